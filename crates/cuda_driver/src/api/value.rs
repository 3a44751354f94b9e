//! Streams that wait for, and write, single values in memory.

use std::ffi::c_void;

use crate::abi::{
    Answer, CUdeviceptr, CUresult, CUstream, CUstreamBatchMemOpType as Kind, CUstreamWaitValue, In,
};
use crate::objects::stream::target;
use crate::objects::transfer::check_device;
use crate::objects::value::{WaitValue, WriteValue};

const NO_MEMORY_BARRIER: u32 = 1;
const FLUSH: u32 = 1 << 30;

fn wait(stream: CUstream, address: CUdeviceptr, value: u64, bytes: usize, flags: u32) -> Answer {
    let target = target(stream)?;
    check(address, bytes)?;
    let comparison = CUstreamWaitValue::try_from(flags & !FLUSH)?;
    target.issue(WaitValue { address, value, bytes, comparison })
}

fn write(stream: CUstream, address: CUdeviceptr, value: u64, bytes: usize, flags: u32) -> Answer {
    let target = target(stream)?;
    check(address, bytes)?;
    if flags & !NO_MEMORY_BARRIER != 0 {
        return Err(CUresult::INVALID_VALUE);
    }
    target.issue(WriteValue { address, value, bytes })
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
    const MOST: u32 = 256;
    if flags != 0 || count > MOST {
        return Err(CUresult::INVALID_VALUE);
    }
    // SAFETY: the caller vouches for its array of `count` operations.
    let operations = unsafe { In::<Operation>::new(operations.cast()) }.array(count as usize)?;
    for [kind, address, value, flags, ..] in operations {
        let flags = flags as u32;
        match Kind::try_from(kind as u32)? {
            Kind::WAIT_VALUE_32 => wait(stream, address, value as u32 as u64, 4, flags)?,
            Kind::WAIT_VALUE_64 => wait(stream, address, value, 8, flags)?,
            Kind::WRITE_VALUE_32 => write(stream, address, value as u32 as u64, 4, flags)?,
            Kind::WRITE_VALUE_64 => write(stream, address, value, 8, flags)?,
            Kind::BARRIER => {}
            Kind::FLUSH_REMOTE_WRITES => return Err(CUresult::INVALID_VALUE),
        }
    }
    Ok(())
}
