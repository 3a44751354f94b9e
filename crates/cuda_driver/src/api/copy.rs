//! Copies of memory.

use std::ffi::c_void;

use crate::abi::{Answer, CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUcontext, CUdeviceptr, CUstream, In};
use crate::objects::copy_description::{cuboid, rectangle};
use crate::objects::stream::{default_target, target};
use crate::objects::transfer::{Copy, Memory};

fn unified(dst: CUdeviceptr, src: CUdeviceptr, bytes: usize) -> Copy {
    Copy::linear(Memory::unified(dst), Memory::unified(src), bytes)
}

fn to_device(dst: CUdeviceptr, src: *const c_void, bytes: usize) -> Copy {
    Copy::linear(Memory::Device(dst), Memory::host(src), bytes)
}

fn to_host(dst: *mut c_void, src: CUdeviceptr, bytes: usize) -> Copy {
    Copy::linear(Memory::host(dst), Memory::Device(src), bytes)
}

fn on_device(dst: CUdeviceptr, src: CUdeviceptr, bytes: usize) -> Copy {
    Copy::linear(Memory::Device(dst), Memory::Device(src), bytes)
}

pub fn cuMemcpy(dst: CUdeviceptr, src: CUdeviceptr, bytes: usize) -> Answer {
    unified(dst, src, bytes).run_now(&default_target()?)
}

pub fn cuMemcpyAsync(dst: CUdeviceptr, src: CUdeviceptr, bytes: usize, stream: CUstream) -> Answer {
    unified(dst, src, bytes).issue(&target(stream)?)
}

/// The contexts of both sides are of one device, whose memory is one.
pub fn cuMemcpyPeer(
    dst: CUdeviceptr,
    _dst_context: CUcontext,
    src: CUdeviceptr,
    _src_context: CUcontext,
    bytes: usize,
) -> Answer {
    cuMemcpyDtoD_v2(dst, src, bytes)
}

pub fn cuMemcpyPeerAsync(
    dst: CUdeviceptr,
    _dst_context: CUcontext,
    src: CUdeviceptr,
    _src_context: CUcontext,
    bytes: usize,
    stream: CUstream,
) -> Answer {
    cuMemcpyDtoDAsync_v2(dst, src, bytes, stream)
}

pub fn cuMemcpyHtoD_v2(dst: CUdeviceptr, src: *const c_void, bytes: usize) -> Answer {
    to_device(dst, src, bytes).run_now(&default_target()?)
}

pub fn cuMemcpyDtoH_v2(dst: *mut c_void, src: CUdeviceptr, bytes: usize) -> Answer {
    to_host(dst, src, bytes).run_now(&default_target()?)
}

pub fn cuMemcpyDtoD_v2(dst: CUdeviceptr, src: CUdeviceptr, bytes: usize) -> Answer {
    on_device(dst, src, bytes).run_now(&default_target()?)
}

pub fn cuMemcpyHtoDAsync_v2(dst: CUdeviceptr, src: *const c_void, bytes: usize, stream: CUstream) -> Answer {
    to_device(dst, src, bytes).issue(&target(stream)?)
}

pub fn cuMemcpyDtoHAsync_v2(dst: *mut c_void, src: CUdeviceptr, bytes: usize, stream: CUstream) -> Answer {
    to_host(dst, src, bytes).issue(&target(stream)?)
}

pub fn cuMemcpyDtoDAsync_v2(dst: CUdeviceptr, src: CUdeviceptr, bytes: usize, stream: CUstream) -> Answer {
    on_device(dst, src, bytes).issue(&target(stream)?)
}

pub fn cuMemcpy2D_v2(copy: In<CUDA_MEMCPY2D>) -> Answer {
    let target = default_target()?;
    rectangle(&copy.get()?)?.run_now(&target)
}

pub fn cuMemcpy2DAsync_v2(copy: In<CUDA_MEMCPY2D>, stream: CUstream) -> Answer {
    let target = target(stream)?;
    rectangle(&copy.get()?)?.issue(&target)
}

pub fn cuMemcpy3D_v2(copy: In<CUDA_MEMCPY3D>) -> Answer {
    let target = default_target()?;
    cuboid(&copy.get()?)?.run_now(&target)
}

pub fn cuMemcpy3DAsync_v2(copy: In<CUDA_MEMCPY3D>, stream: CUstream) -> Answer {
    let target = target(stream)?;
    cuboid(&copy.get()?)?.issue(&target)
}
