//! Launches of kernels.

use std::ffi::c_void;

use crate::abi::{Answer, CUfunction, CUlaunchConfig, CUresult, CUstream, In};
use crate::objects::launch::{Request, attributes};
use crate::objects::registry::OfContext;
use crate::objects::stream::target;

fn issue(request: &Request, stream: CUstream) -> Answer {
    let target = target(stream)?;
    let launch = request.prepare(&target.context)?;
    // A function belongs to one context, and runs only on streams of that context.
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
    let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
    let (cooperative, cluster) = (false, None);
    issue(&Request { function, grid, block, shared, cooperative, cluster, params, extra }, stream)
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
    let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
    // SAFETY: null is one of the values that are allowed.
    let (cooperative, cluster, extra) = (true, None, unsafe { In::new(std::ptr::null()) });
    issue(&Request { function, grid, block, shared, cooperative, cluster, params, extra }, stream)
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
