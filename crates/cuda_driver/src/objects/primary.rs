//! The primary context: made when it is first retained, destroyed with its last release.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::abi::{Answer, CUcontext, CUresult};
use crate::objects::context::{API_VERSION, CONTEXTS, Context};
use crate::objects::registry::new_handle;

struct Primary {
    context: Option<Arc<Context>>,
    retained: u32,
    flags: u32,
    /// The handle that it has each time it is made; programs keep it beyond the last release.
    handle: Option<CUcontext>,
}

static PRIMARY: Mutex<Primary> = Mutex::new(Primary { context: None, retained: 0, flags: 0, handle: None });

fn primary() -> MutexGuard<'static, Primary> {
    PRIMARY.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Primary {
    /// Destroys the context while nobody else can retain it: the next one has the same handle, and what is destroyed goes
    /// by the handle.
    fn destroy(&mut self) {
        if let Some(context) = self.context.take() {
            context.destroy();
        }
    }
}

pub fn is_primary(context: CUcontext) -> bool {
    primary().context.as_ref().is_some_and(|primary| primary.handle == context)
}

/// Whether a thread may make a context current: it lives, or it is the primary one, which may be retained again.
pub fn may_be_current(context: CUcontext) -> Answer {
    let living = CONTEXTS.get(context).map(|_| ());
    living.or_else(|gone| if primary().handle == Some(context) { Ok(()) } else { Err(gone) })
}

pub fn retain() -> CUcontext {
    let mut primary = primary();
    let flags = primary.flags;
    let handle = *primary.handle.get_or_insert_with(new_handle);
    primary.context.get_or_insert_with(|| Context::create(handle, flags, API_VERSION));
    primary.retained += 1;
    handle
}

pub fn release() -> Answer {
    let mut primary = primary();
    primary.retained = primary.retained.checked_sub(1).ok_or(CUresult::INVALID_CONTEXT)?;
    if primary.retained == 0 {
        primary.destroy();
    }
    Ok(())
}

/// Whoever uses it: it goes, and comes back when it is retained again.
pub fn reset() {
    let mut primary = primary();
    primary.destroy();
    primary.retained = 0;
}

pub fn state() -> (u32, bool) {
    let primary = primary();
    let context = primary.context.as_ref();
    let flags = context.map_or(primary.flags, |context| context.flags.load(Ordering::Relaxed));
    (flags, context.is_some())
}

/// The flags that it has, or will be made with.
pub fn set_flags(flags: u32) {
    let mut primary = primary();
    primary.flags = flags;
    if let Some(context) = &primary.context {
        context.flags.store(flags, Ordering::Relaxed);
    }
}
