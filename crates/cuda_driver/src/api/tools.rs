//! Markers for tools that are not there: a program may set them on any device.

use crate::abi::{Answer, CUdevice, CUresult, Text};
use crate::objects::context::current;
use crate::objects::device::device;

pub fn cuProfilerStart() -> Answer {
    current().map(|_| ())
}

pub fn cuProfilerStop() -> Answer {
    current().map(|_| ())
}

pub fn cuProfilerInitialize(_config: Text, _output: Text, _mode: u32) -> Answer {
    // Since CUDA 11 the driver itself no longer has such a profiler.
    Err(CUresult::PROFILER_DISABLED)
}

pub fn cuFlushGPUDirectRDMAWrites(_target: u32, _scope: u32) -> Answer {
    current().map(|_| ())
}

pub fn cuDeviceGraphMemTrim(dev: CUdevice) -> Answer {
    device(dev).map(|_| ())
}
