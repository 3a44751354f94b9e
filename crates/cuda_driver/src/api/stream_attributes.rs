//! Attributes of streams: cache windows, priorities, how the host waits. They have no effect here, and are only stored.

use std::ffi::c_void;

use crate::abi::{Answer, CUlaunchAttributeID as Attribute, CUresult, CUstream, In, Out};
use crate::objects::kept_attributes::Value;
use crate::objects::stream::{Target, target};

/// A stream's attributes if none were set.
fn default_of(target: &Target, attribute: Attribute) -> Answer<Value> {
    const AUTO: u64 = 1;
    const LOCAL_ZERO_REMOTE_ONE: u64 = 0x0100;
    let mut value = [0; 8];
    value[0] = match attribute {
        Attribute::ACCESS_POLICY_WINDOW | Attribute::MEM_SYNC_DOMAIN => 0,
        Attribute::SYNCHRONIZATION_POLICY => AUTO,
        Attribute::PRIORITY => target.priority() as u32 as u64,
        Attribute::MEM_SYNC_DOMAIN_MAP => LOCAL_ZERO_REMOTE_ONE,
        _ => return Err(CUresult::INVALID_VALUE),
    };
    Ok(value)
}

pub fn cuStreamGetAttribute(stream: CUstream, number: u32, value: *mut c_void) -> Answer {
    let target = target(stream)?;
    let attribute = number.try_into()?;
    let usual = default_of(&target, attribute)?;
    let set = target.stream.as_ref().and_then(|stream| stream.attributes().get(attribute));
    // SAFETY: the caller vouches for a place of the union's size.
    unsafe { Out::<Value>::new(value.cast()) }.set(set.unwrap_or(usual))
}

pub fn cuStreamSetAttribute(stream: CUstream, number: u32, value: *const c_void) -> Answer {
    let target = target(stream)?;
    let attribute = number.try_into()?;
    default_of(&target, attribute)?;
    // SAFETY: the caller vouches for a union.
    let value = unsafe { In::<Value>::new(value.cast()) }.get()?;
    if let Some(stream) = &target.stream {
        stream.attributes().set(attribute, value);
    }
    Ok(())
}

pub fn cuStreamCopyAttributes(to: CUstream, from: CUstream) -> Answer {
    let (to, from) = (target(to)?, target(from)?);
    if let (Some(to), Some(from)) = (&to.stream, &from.stream) {
        let copied = from.attributes().clone();
        *to.attributes() = copied;
    }
    Ok(())
}
