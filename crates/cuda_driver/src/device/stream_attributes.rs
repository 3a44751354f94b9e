//! Attributes of streams: cache windows, priorities, how the host waits. They steer what has no meaning here, and are kept.

use std::ffi::c_void;
use std::sync::{MutexGuard, PoisonError};

use crate::abi::{Answer, CUresult, CUstream, In, Out};
use crate::device::graph::{KeptAttributes, Value};
use crate::device::stream::{Stream, Target, target};

/// `CUstreamAttrID`
const ACCESS_POLICY_WINDOW: u32 = 1;
const SYNCHRONIZATION_POLICY: u32 = 3;
const PRIORITY: u32 = 8;
const MEMORY_DOMAIN_MAP: u32 = 9;
const MEMORY_DOMAIN: u32 = 10;

fn kept(stream: &Stream) -> MutexGuard<'_, KeptAttributes> {
    // A plain record: whole after a panic elsewhere.
    stream.attributes.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a stream has that nothing was set for.
fn default_of(target: &Target, number: u32) -> Answer<Value> {
    const AUTO: u64 = 1;
    const LOCAL_ZERO_REMOTE_ONE: u64 = 0x0100;
    let mut value = [0; 8];
    value[0] = match number {
        ACCESS_POLICY_WINDOW | MEMORY_DOMAIN => 0,
        SYNCHRONIZATION_POLICY => AUTO,
        PRIORITY => target.priority() as u32 as u64,
        MEMORY_DOMAIN_MAP => LOCAL_ZERO_REMOTE_ONE,
        _ => return Err(CUresult::INVALID_VALUE),
    };
    Ok(value)
}

pub fn cuStreamGetAttribute(stream: CUstream, number: u32, value: *mut c_void) -> Answer {
    let target = target(stream)?;
    let usual = default_of(&target, number)?;
    let set = target.stream.as_ref().and_then(|stream| kept(stream).get(number));
    // SAFETY: the caller vouches for a place of the union's size.
    unsafe { Out::<Value>::new(value.cast()) }.set(set.unwrap_or(usual))
}

pub fn cuStreamSetAttribute(stream: CUstream, number: u32, value: *const c_void) -> Answer {
    let target = target(stream)?;
    default_of(&target, number)?;
    // SAFETY: the caller vouches for a union.
    let value = unsafe { In::<Value>::new(value.cast()) }.get()?;
    if let Some(stream) = &target.stream {
        kept(stream).set(number, value);
    }
    Ok(())
}

pub fn cuStreamCopyAttributes(to: CUstream, from: CUstream) -> Answer {
    let (to, from) = (target(to)?, target(from)?);
    if let (Some(to), Some(from)) = (&to.stream, &from.stream) {
        let copied = kept(from).clone();
        *kept(to) = copied;
    }
    Ok(())
}
