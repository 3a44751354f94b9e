//! Streams that wait for, and write, single values in memory.

use std::ffi::c_void;

use crate::abi::{Answer, CUdeviceptr, CUresult, CUstream};
use crate::device::stream::target;
use crate::device::transfer::check_device;
use crate::device::work::{Op, WaitValue};

const NO_MEMORY_BARRIER: u32 = 1;
const FLUSH: u32 = 1 << 30;

fn wait(stream: CUstream, address: CUdeviceptr, value: u64, bytes: usize, flags: u32) -> Answer {
    let target = target(stream)?;
    check(address, bytes)?;
    if flags & !(3 | FLUSH) != 0 {
        return Err(CUresult::INVALID_VALUE);
    }
    target.issue(Op::WaitValue(WaitValue { address, value, bytes, flags }))
}

fn write(stream: CUstream, address: CUdeviceptr, value: u64, bytes: usize, flags: u32) -> Answer {
    let target = target(stream)?;
    check(address, bytes)?;
    if flags & !NO_MEMORY_BARRIER != 0 {
        return Err(CUresult::INVALID_VALUE);
    }
    target.issue(Op::WriteValue { address, value, bytes })
}

fn check(address: CUdeviceptr, bytes: usize) -> Answer {
    if !address.is_multiple_of(bytes as u64) {
        return Err(CUresult::INVALID_VALUE);
    }
    check_device(address, bytes)
}

pub fn cuStreamWaitValue32_v2(stream: CUstream, address: CUdeviceptr, value: u32, flags: u32) -> Answer {
    wait(stream, address, value.into(), 4, flags)
}

pub fn cuStreamWaitValue64_v2(stream: CUstream, address: CUdeviceptr, value: u64, flags: u32) -> Answer {
    wait(stream, address, value, 8, flags)
}

pub fn cuStreamWriteValue32_v2(stream: CUstream, address: CUdeviceptr, value: u32, flags: u32) -> Answer {
    write(stream, address, value.into(), 4, flags)
}

pub fn cuStreamWriteValue64_v2(stream: CUstream, address: CUdeviceptr, value: u64, flags: u32) -> Answer {
    write(stream, address, value, 8, flags)
}

/// One operation of a batch: a union of six words that begins with its kind.
type Operation = [u64; 6];

pub fn cuStreamBatchMemOp_v2(stream: CUstream, count: u32, operations: *mut c_void, flags: u32) -> Answer {
    const WAIT_32: u32 = 1;
    const WRITE_32: u32 = 2;
    const WAIT_64: u32 = 4;
    const WRITE_64: u32 = 5;
    const BARRIER: u32 = 6;
    const MOST: u32 = 256;
    if flags != 0 || count > MOST {
        return Err(CUresult::INVALID_VALUE);
    }
    // SAFETY: the caller vouches for its array of `count` operations.
    let operations = unsafe { crate::abi::In::<Operation>::new(operations.cast()) }.array(count as usize)?;
    for [kind, address, value, flags, ..] in operations {
        let (kind, flags) = (kind as u32, flags as u32);
        match kind {
            WAIT_32 => wait(stream, address, value as u32 as u64, 4, flags)?,
            WAIT_64 => wait(stream, address, value, 8, flags)?,
            WRITE_32 => write(stream, address, value as u32 as u64, 4, flags)?,
            WRITE_64 => write(stream, address, value, 8, flags)?,
            BARRIER => {}
            _ => return Err(CUresult::INVALID_VALUE),
        }
    }
    Ok(())
}
