//! `cuLaunchKernelEx`: launches with attributes.

use std::ffi::c_void;

use cust::error::CudaResult;
use cust::function::Function;
use cust::sys;

use super::result;
use crate::stream::Stream;

/// Attributes of a launch beyond its shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extended {
    /// Blocks of a cluster along x, y, z, where the kernel does not say it itself.
    pub cluster: Option<[u32; 3]>,
    /// Blocks may start as soon as there is room, though the kernel before still runs: a kernel that says
    /// `griddepcontrol.wait` before it touches memory is ready when its turn comes.
    pub early: bool,
    /// Blocks may wait for each other: the launch fails unless all of them fit on the device at once.
    pub cooperative: bool,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Attribute {
    id: u32,
    pad: u32,
    value: [u32; 16],
}

#[repr(C)]
struct Config {
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    stream: sys::CUstream,
    attributes: *mut Attribute,
    count: u32,
}

/// `CU_LAUNCH_ATTRIBUTE_COOPERATIVE`
const COOPERATIVE: u32 = 2;
/// `CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION`
const CLUSTER: u32 = 4;
/// `CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`
const EARLY: u32 = 6;

unsafe extern "C" {
    fn cuLaunchKernelEx(
        config: *const Config,
        function: sys::CUfunction,
        parameters: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> sys::CUresult;
}

/// Launches a kernel with attributes.
///
/// # Safety
/// `params` points at one value for each of the kernel's parameters, of its size; a kernel that may start early waits
/// before it touches memory.
pub unsafe fn launch_extended(
    stream: &Stream,
    function: &Function<'_>,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    extended: Extended,
    params: &mut [*mut c_void],
) -> CudaResult<()> {
    let mut attributes = Vec::new();
    let mut say = |id, words: &[u32]| {
        let mut value = [0; 16];
        value[..words.len()].copy_from_slice(words);
        attributes.push(Attribute { id, pad: 0, value });
    };
    if let Some(cluster) = extended.cluster {
        say(CLUSTER, &cluster);
    }
    if extended.early {
        say(EARLY, &[1]);
    }
    if extended.cooperative {
        say(COOPERATIVE, &[1]);
    }
    let config = Config {
        grid,
        block,
        shared,
        stream: stream.as_inner(),
        attributes: attributes.as_mut_ptr(),
        count: attributes.len() as u32,
    };
    // SAFETY: the configuration and its attributes live through the call; the rest is the caller's promise.
    result(unsafe { cuLaunchKernelEx(&config, function.to_raw(), params.as_mut_ptr(), std::ptr::null_mut()) })
}
