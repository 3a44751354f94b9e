//! Marks for tools that are not there: a program may set them on any device.

use std::ffi::c_void;

use crate::abi::{Answer, CUdevice, CUresult, CUstream, Text};
use crate::device::context::current;
use crate::device::devices::device;
use crate::device::stream::target;

pub fn cuProfilerStart() -> Answer {
    current().map(|_| ())
}

pub fn cuProfilerStop() -> Answer {
    current().map(|_| ())
}

pub fn cuProfilerInitialize(_config: Text, _output: Text, _mode: u32) -> Answer {
    // Since CUDA 11 the driver itself has no such profiler any more.
    Err(CUresult::PROFILER_DISABLED)
}

pub fn cuFlushGPUDirectRDMAWrites(_target: u32, _scope: u32) -> Answer {
    current().map(|_| ())
}

pub fn cuDeviceGraphMemTrim(dev: CUdevice) -> Answer {
    device(dev)
}

pub fn cuStreamSetAttribute(stream: CUstream, _attribute: u32, value: *const c_void) -> Answer {
    target(stream)?;
    // Cache windows, priorities and synchronisation policies steer what has no meaning here.
    if value.is_null() { Err(CUresult::INVALID_VALUE) } else { Ok(()) }
}
