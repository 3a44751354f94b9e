//! Host memory accessible to kernels: pinned, registered, managed.

use std::ffi::c_void;

use crate::abi::{Answer, CUdeviceptr, CUresult, Out};
use crate::check::host_pages;
use crate::objects::allocation::{Origin, allocate_on_host, is_pinned, owner_of, register, release};
use crate::objects::context::{current, current_if_any};
use crate::objects::process;

pub fn cuMemAllocHost_v2(place: Out<*mut c_void>, bytes: usize) -> Answer {
    place.required()?;
    place.set(allocate_on_host(bytes, Origin::PinnedHost { flags: 0 })? as *mut c_void)
}

pub fn cuMemHostAlloc(place: Out<*mut c_void>, bytes: usize, flags: u32) -> Answer {
    const PORTABLE_MAPPED_COMBINED: u32 = 7;
    place.required()?;
    if flags & !PORTABLE_MAPPED_COMBINED != 0 {
        return Err(CUresult::INVALID_VALUE);
    }
    place.set(allocate_on_host(bytes, Origin::PinnedHost { flags })? as *mut c_void)
}

pub fn cuMemFreeHost(pointer: *mut c_void) -> Answer {
    current_if_any()?;
    let address = pointer as u64;
    match owner_of(address) {
        Some((owner, Origin::PinnedHost { .. })) => {
            host_pages::frees(address);
            owner.queue.drain()?;
            release(address);
            Ok(())
        }
        _ => Err(CUresult::INVALID_VALUE),
    }
}

pub fn cuMemAllocManaged(place: Out<CUdeviceptr>, bytes: usize, flags: u32) -> Answer {
    const GLOBAL: u32 = 1;
    const HOST: u32 = 2;
    place.required()?;
    if !matches!(flags, GLOBAL | HOST) {
        return Err(CUresult::INVALID_VALUE);
    }
    place.set(allocate_on_host(bytes, Origin::Managed)? as u64)
}

pub fn cuMemHostRegister_v2(pointer: *mut c_void, bytes: usize, flags: u32) -> Answer {
    const READ_ONLY: u32 = 8;
    const KNOWN: u32 = 0xf;
    current()?;
    let there = || process::has(pointer as usize, bytes, flags & READ_ONLY == 0);
    if pointer.is_null() || bytes == 0 || flags & !KNOWN != 0 || !there() {
        return Err(CUresult::INVALID_VALUE);
    }
    register(pointer as usize, bytes)
}

pub fn cuMemHostUnregister(pointer: *mut c_void) -> Answer {
    current()?;
    let address = pointer as u64;
    match owner_of(address) {
        Some((owner, Origin::Registered)) => {
            owner.queue.drain()?;
            release(address);
            Ok(())
        }
        _ if pointer.is_null() => Err(CUresult::INVALID_VALUE),
        _ => Err(CUresult::HOST_MEMORY_NOT_REGISTERED),
    }
}

pub fn cuMemHostGetDevicePointer_v2(place: Out<CUdeviceptr>, pointer: *mut c_void, flags: u32) -> Answer {
    place.required()?;
    current()?;
    if flags != 0 || !is_pinned(pointer as usize, 1) {
        return Err(CUresult::INVALID_VALUE);
    }
    place.set(pointer as u64)
}

pub fn cuMemHostGetFlags(flags: Out<u32>, pointer: *mut c_void) -> Answer {
    const DEVICE_MAP: u32 = 2;
    flags.required()?;
    current()?;
    match owner_of(pointer as u64) {
        Some((_, Origin::PinnedHost { flags: given })) => flags.set(given | DEVICE_MAP),
        _ => Err(CUresult::INVALID_VALUE),
    }
}
