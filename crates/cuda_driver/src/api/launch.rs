//! Launches of kernels.

use std::ffi::c_void;

use crate::abi::{Answer, CUfunction, CUlaunchConfig, CUresult, CUstream, In};
use crate::objects::launch::{Request, attributes};
use crate::objects::registry::OfContext;
use crate::objects::stream::target;

fn issue(request: &Request, stream: CUstream) -> Answer {
    let target = target(stream)?;
    let launch = request.prepare()?;
    // A function is of one context, and runs on streams of that one only.
    if launch.function.context() != target.context.handle {
        return Err(CUresult::INVALID_HANDLE);
    }
    target.issue(launch)
}

pub fn cuLaunchKernel(
    function: CUfunction,
    grid_x: u32,
    grid_y: u32,
    grid_z: u32,
    block_x: u32,
    block_y: u32,
    block_z: u32,
    shared: u32,
    stream: CUstream,
    params: In<*mut c_void>,
    extra: In<*mut c_void>,
) -> Answer {
    let request = Request {
        function,
        grid: [grid_x, grid_y, grid_z],
        block: [block_x, block_y, block_z],
        shared,
        cooperative: false,
        cluster: None,
        params,
        extra,
    };
    issue(&request, stream)
}

pub fn cuLaunchCooperativeKernel(
    function: CUfunction,
    grid_x: u32,
    grid_y: u32,
    grid_z: u32,
    block_x: u32,
    block_y: u32,
    block_z: u32,
    shared: u32,
    stream: CUstream,
    params: In<*mut c_void>,
) -> Answer {
    let request = Request {
        function,
        grid: [grid_x, grid_y, grid_z],
        block: [block_x, block_y, block_z],
        shared,
        cooperative: true,
        cluster: None,
        params,
        // SAFETY: null is one of the values that are allowed.
        extra: unsafe { In::new(std::ptr::null()) },
    };
    issue(&request, stream)
}

pub fn cuLaunchKernelEx(
    config: In<CUlaunchConfig>,
    function: CUfunction,
    params: In<*mut c_void>,
    extra: In<*mut c_void>,
) -> Answer {
    let config = config.get()?;
    let (cooperative, cluster) = attributes(&config)?;
    let request = Request {
        function,
        grid: config.gridDim,
        block: config.blockDim,
        shared: config.sharedMemBytes,
        cooperative,
        cluster,
        params,
        extra,
    };
    issue(&request, config.hStream)
}
