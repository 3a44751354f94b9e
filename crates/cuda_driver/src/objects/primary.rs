//! The primary context of each device: created when it is first retained, destroyed with its last release.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::abi::{Answer, CUcontext, CUresult};
use crate::objects::context::{API_VERSION, CONTEXTS, Context};
use crate::objects::device::{Device, devices};
use crate::objects::registry::new_handle;

#[derive(Default)]
struct Primary {
    context: Option<Arc<Context>>,
    retained: u32,
    flags: u32,
    /// Its handle, which stays the same; programs keep it beyond the last release.
    handle: Option<CUcontext>,
}

fn all() -> &'static [Mutex<Primary>] {
    static ALL: OnceLock<Vec<Mutex<Primary>>> = OnceLock::new();
    ALL.get_or_init(|| devices().iter().map(|_| Mutex::default()).collect())
}

fn lock(primary: &Mutex<Primary>) -> MutexGuard<'_, Primary> {
    primary.lock().unwrap_or_else(PoisonError::into_inner)
}

fn of(device: &Device) -> MutexGuard<'static, Primary> {
    lock(&all()[device.number as usize])
}

impl Primary {
    /// Destroys the context while no other thread can retain it: the next one has the same handle, and what is destroyed goes
    /// by the handle.
    fn destroy(&mut self) {
        if let Some(context) = self.context.take() {
            context.destroy();
        }
    }
}

pub fn is_primary(context: CUcontext) -> bool {
    all().iter().any(|primary| lock(primary).context.as_ref().is_some_and(|known| known.handle == context))
}

/// Whether a thread may make a context current: it lives, or it is a primary one, which may be retained again.
pub fn may_be_current(context: CUcontext) -> Answer {
    let living = CONTEXTS.get(context).map(|_| ());
    let was = || all().iter().any(|primary| lock(primary).handle == Some(context));
    living.or_else(|gone| if was() { Ok(()) } else { Err(gone) })
}

pub fn retain(device: &'static Device) -> CUcontext {
    let mut primary = of(device);
    let flags = primary.flags;
    let handle = *primary.handle.get_or_insert_with(new_handle);
    primary.context.get_or_insert_with(|| Context::create(device, handle, flags, API_VERSION));
    primary.retained += 1;
    handle
}

pub fn release(device: &Device) -> Answer {
    let mut primary = of(device);
    primary.retained = primary.retained.checked_sub(1).ok_or(CUresult::INVALID_CONTEXT)?;
    if primary.retained == 0 {
        primary.destroy();
    }
    Ok(())
}

/// In use or not: it is destroyed, and comes back when it is retained again.
pub fn reset(device: &Device) {
    let mut primary = of(device);
    primary.destroy();
    primary.retained = 0;
}

pub fn state(device: &Device) -> (u32, bool) {
    let primary = of(device);
    let context = primary.context.as_ref();
    let flags = context.map_or(primary.flags, |context| context.flags.load(Ordering::Relaxed));
    (flags, context.is_some())
}

/// The flags that it has, or will be created with.
pub fn set_flags(device: &Device, flags: u32) {
    let mut primary = of(device);
    primary.flags = flags;
    if let Some(context) = &primary.context {
        context.flags.store(flags, Ordering::Relaxed);
    }
}
