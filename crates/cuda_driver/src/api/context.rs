//! Contexts: making, destroying, making current.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::abi::{Answer, CUcontext, CUdevice, CUresult, Out};
use crate::objects::context::{
    API_VERSION, CONTEXTS, Context, NONE, current, current_even_if_broken, with_stack,
};
use crate::objects::device::{device, initialised};
use crate::objects::primary::{self, may_be_current};
use crate::objects::queue::refuse_in_work;
use crate::objects::registry::new_handle;
use crate::objects::stream;

const SCHEDULE_MASK: u32 = 7;
const FLAGS_MASK: u32 = 0xff;

/// Scheduling is one of four values; the other flags are bits of the mask.
fn check_flags(flags: u32) -> Answer {
    if flags & !FLAGS_MASK == 0 && matches!(flags & SCHEDULE_MASK, 0 | 1 | 2 | 4) {
        Ok(())
    } else {
        Err(CUresult::INVALID_VALUE)
    }
}

pub fn cuCtxCreate(context: Out<CUcontext>, flags: u32, dev: CUdevice) -> Answer {
    create(context, flags, dev, 3010)
}

pub fn cuCtxCreate_v2(context: Out<CUcontext>, flags: u32, dev: CUdevice) -> Answer {
    create(context, flags, dev, API_VERSION)
}

pub fn cuCtxCreate_v3(
    context: Out<CUcontext>,
    _params_array: *mut c_void,
    num_params: i32,
    flags: u32,
    dev: CUdevice,
) -> Answer {
    if num_params != 0 {
        return Err(CUresult::UNSUPPORTED_EXEC_AFFINITY);
    }
    create(context, flags, dev, API_VERSION)
}

pub fn cuCtxCreate_v4(context: Out<CUcontext>, _params: *mut c_void, flags: u32, dev: CUdevice) -> Answer {
    create(context, flags, dev, API_VERSION)
}

fn create(place: Out<CUcontext>, flags: u32, dev: CUdevice, api_version: u32) -> Answer {
    initialised()?;
    place.required()?;
    let device = device(dev)?;
    check_flags(flags)?;
    let context = Context::create(device, new_handle(), flags, api_version);
    with_stack(|stack| stack.push(context.handle));
    place.set(context.handle)
}

pub fn cuCtxDestroy_v2(context: CUcontext) -> Answer {
    initialised()?;
    refuse_in_work()?;
    if context == NONE {
        return Err(CUresult::INVALID_VALUE);
    }
    let found = CONTEXTS.get(context)?;
    if primary::is_primary(context) {
        return Err(CUresult::INVALID_CONTEXT);
    }
    with_stack(|stack| {
        if stack.last() == Some(&context) {
            stack.pop();
        }
    });
    found.destroy();
    Ok(())
}

pub fn cuCtxAttach(context: Out<CUcontext>, flags: u32) -> Answer {
    context.required()?;
    if flags != 0 {
        return Err(CUresult::INVALID_VALUE);
    }
    context.set(current()?.handle)
}

pub fn cuCtxDetach(context: CUcontext) -> Answer {
    // A context has one user; a program that attached to it detaches from its own.
    if current_even_if_broken()?.handle != context {
        return Err(CUresult::INVALID_CONTEXT);
    }
    cuCtxDestroy_v2(context)
}

pub fn cuCtxPushCurrent_v2(context: CUcontext) -> Answer {
    initialised()?;
    may_be_current(context)?;
    with_stack(|stack| stack.push(context));
    Ok(())
}

pub fn cuCtxPopCurrent_v2(place: Out<CUcontext>) -> Answer {
    initialised()?;
    let popped = with_stack(Vec::pop).ok_or(CUresult::INVALID_CONTEXT)?;
    place.set_if_given(popped);
    Ok(())
}

pub fn cuCtxSetCurrent(context: CUcontext) -> Answer {
    initialised()?;
    if context != NONE {
        may_be_current(context)?;
    }
    with_stack(|stack| {
        stack.pop();
        if context != NONE {
            stack.push(context);
        }
    });
    Ok(())
}

pub fn cuCtxGetCurrent(place: Out<CUcontext>) -> Answer {
    initialised()?;
    place.set(with_stack(|stack| stack.last().copied()).unwrap_or(NONE))
}

pub fn cuCtxGetDevice_v2(place: Out<CUdevice>, context: CUcontext) -> Answer {
    place.required()?;
    initialised()?;
    place.set(given_or_current(context)?.device.number)
}

/// The context with this handle; null means the current one.
fn given_or_current(context: CUcontext) -> Answer<Arc<Context>> {
    if context == NONE { current_even_if_broken() } else { CONTEXTS.get(context) }
}

pub fn cuCtxGetFlags(flags: Out<u32>) -> Answer {
    flags.required()?;
    flags.set(current()?.flags.load(Ordering::Relaxed))
}

pub fn cuCtxSetFlags(flags: u32) -> Answer {
    check_flags(flags)?;
    current()?.flags.store(flags, Ordering::Relaxed);
    Ok(())
}

pub fn cuCtxGetId(context: CUcontext, id: Out<u64>) -> Answer {
    id.required()?;
    id.set(given_or_current(context)?.handle as u64)
}

pub fn cuCtxGetApiVersion(context: CUcontext, version: Out<u32>) -> Answer {
    version.required()?;
    version.set(given_or_current(context)?.api_version)
}

pub fn cuCtxSynchronize_v2(context: CUcontext) -> Answer {
    initialised()?;
    let context = given_or_current(context)?;
    context.intact()?;
    stream::refuse_if_capturing(&context)?;
    context.queue.drain()?;
    context.intact()
}

pub fn cuDevicePrimaryCtxRetain(place: Out<CUcontext>, dev: CUdevice) -> Answer {
    place.required()?;
    place.set(primary::retain(device(dev)?))
}

pub fn cuDevicePrimaryCtxRelease_v2(dev: CUdevice) -> Answer {
    let device = device(dev)?;
    refuse_in_work()?;
    primary::release(device)
}

pub fn cuDevicePrimaryCtxReset_v2(dev: CUdevice) -> Answer {
    let device = device(dev)?;
    refuse_in_work()?;
    primary::reset(device);
    Ok(())
}

pub fn cuDevicePrimaryCtxGetState(dev: CUdevice, flags: Out<u32>, active: Out<i32>) -> Answer {
    flags.required()?;
    active.required()?;
    let (set, there) = primary::state(device(dev)?);
    flags.set(set)?;
    active.set(there.into())
}

pub fn cuDevicePrimaryCtxSetFlags_v2(dev: CUdevice, flags: u32) -> Answer {
    let device = device(dev)?;
    check_flags(flags)?;
    primary::set_flags(device, flags);
    Ok(())
}

/// The current context and its future peer.
fn with_peer(peer: CUcontext) -> Answer<(Arc<Context>, Arc<Context>)> {
    Ok((current()?, CONTEXTS.get(peer)?))
}

pub fn cuCtxEnablePeerAccess(context: CUcontext, flags: u32) -> Answer {
    let (current, peer) = with_peer(context)?;
    if flags != 0 {
        return Err(CUresult::INVALID_VALUE);
    }
    if peer.handle == current.handle || !current.device.can_access(peer.device) {
        return Err(CUresult::PEER_ACCESS_UNSUPPORTED);
    }
    let new = current.quota.memory().enable_peer(peer.quota.memory());
    if new { Ok(()) } else { Err(CUresult::PEER_ACCESS_ALREADY_ENABLED) }
}

pub fn cuCtxDisablePeerAccess(context: CUcontext) -> Answer {
    let (current, peer) = with_peer(context)?;
    if peer.handle == current.handle {
        return Err(CUresult::INVALID_CONTEXT);
    }
    let had = current.quota.memory().disable_peer(peer.quota.memory());
    if had { Ok(()) } else { Err(CUresult::PEER_ACCESS_NOT_ENABLED) }
}
