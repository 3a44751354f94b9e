//! Streams: creating them, waiting for them, and calling the host in stream order.

use std::ffi::c_void;

use crate::abi::{Answer, CUcontext, CUhostFn, CUresult, CUstream, CUstreamCallback, Out};
use crate::objects::context::{current, current_if_any_even_if_broken};
use crate::objects::host_call::{HostCallback, HostFunction};
use crate::objects::limits::{GREATEST_PRIORITY, LEAST_PRIORITY};
use crate::objects::stream::{self, NON_BLOCKING, Stream, target};
use crate::objects::transfer::allocation;
use crate::objects::work::Nothing;

pub fn cuStreamCreateWithPriority(place: Out<CUstream>, flags: u32, priority: i32) -> Answer {
    place.required()?;
    let context = current()?;
    if flags & !NON_BLOCKING != 0 {
        return Err(CUresult::INVALID_VALUE);
    }
    place.set(Stream::open(&context, flags, priority.clamp(GREATEST_PRIORITY, LEAST_PRIORITY)).handle)
}

pub fn cuStreamDestroy_v2(stream: CUstream) -> Answer {
    current_if_any_even_if_broken()?;
    stream::close(stream)
}

pub fn cuStreamSynchronize(stream: CUstream) -> Answer {
    target(stream)?.synchronize()
}

pub fn cuStreamQuery(stream: CUstream) -> Answer {
    let target = target(stream)?;
    target.refuse_capture()?;
    if !target.context.queue.marks_before(target.queue).is_empty() {
        return Err(CUresult::NOT_READY);
    }
    target.context.queue.learn(|order| order.host_waited_for(target.queue));
    Ok(())
}

pub fn cuStreamGetCtx(stream: CUstream, context: Out<CUcontext>) -> Answer {
    context.required()?;
    context.set(target(stream)?.context.handle)
}

pub fn cuStreamGetFlags(stream: CUstream, flags: Out<u32>) -> Answer {
    flags.required()?;
    flags.set(target(stream)?.stream.map_or(0, |stream| stream.flags))
}

pub fn cuStreamGetPriority(stream: CUstream, priority: Out<i32>) -> Answer {
    priority.required()?;
    priority.set(target(stream)?.priority())
}

pub fn cuStreamGetId(stream: CUstream, id: Out<u64>) -> Answer {
    id.required()?;
    // The legacy default stream's id is the number by which programs name it.
    const LEGACY: u64 = 1;
    let target = target(stream)?;
    id.set(target.stream.map_or(LEGACY, |stream| stream.handle as u64))
}

pub fn cuStreamGetDevice(stream: CUstream, device: Out<i32>) -> Answer {
    device.required()?;
    device.set(target(stream)?.context.device.number)
}

pub fn cuLaunchHostFunc(stream: CUstream, function: CUhostFn, user_data: *mut c_void) -> Answer {
    let function = function.ok_or(CUresult::INVALID_VALUE)?;
    target(stream)?.issue(HostFunction { function, data: user_data as usize })
}

pub fn cuLaunchHostFunc_v2(
    stream: CUstream,
    function: CUhostFn,
    user_data: *mut c_void,
    sync_mode: u32,
) -> Answer {
    // It makes no difference here whether the stream's thread spins or sleeps before the call.
    const MODES: u32 = 2;
    if sync_mode >= MODES {
        return Err(CUresult::INVALID_VALUE);
    }
    cuLaunchHostFunc(stream, function, user_data)
}

pub fn cuStreamAddCallback(
    stream: CUstream,
    callback: CUstreamCallback,
    user_data: *mut c_void,
    flags: u32,
) -> Answer {
    let callback = callback.ok_or(CUresult::INVALID_VALUE)?;
    if flags != 0 {
        return Err(CUresult::INVALID_VALUE);
    }
    let target = target(stream)?;
    target.refuse_capture()?;
    target.issue(HostCallback { callback, stream, data: user_data as usize })
}

pub fn cuStreamAttachMemAsync(stream: CUstream, dptr: u64, _length: usize, _flags: u32) -> Answer {
    let target = target(stream)?;
    allocation(dptr)?;
    target.issue(Nothing)
}
