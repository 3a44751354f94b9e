//! Contexts, and each host thread's stack of current ones.
//!
//! A context does not know what belongs to it: objects tell it their kind when they are made, and the kind is told
//! when the context goes.

use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use virtual_gpu::Quota;

use crate::abi::{Answer, CUcontext, CUresult, Handle};
use crate::objects::device::{Device, first, initialised};
use crate::objects::limits::Limits;
use crate::objects::queue::Queue;
use crate::objects::registry::{Belongings, OfContext, Registry, new_handle};

pub static CONTEXTS: Registry<Context> = Registry::new(CUresult::INVALID_CONTEXT);

/// A handle that refers to nothing.
pub const NONE: Handle = 0;

/// The driver version of the context interface that newer contexts report.
pub const API_VERSION: u32 = 3020;

pub struct Context {
    pub handle: CUcontext,
    pub device: &'static Device,
    /// `CU_CTX_…` flags.
    pub flags: AtomicU32,
    pub queue: Arc<Queue>,
    pub api_version: u32,
    /// Resources that its kernels share, memory among them.
    pub quota: Quota,
    limits: Mutex<Limits>,
    belongings: Mutex<Vec<&'static dyn Belongings>>,
    broken: OnceLock<CUresult>,
}

impl Context {
    pub fn create(device: &'static Device, handle: CUcontext, flags: u32, api_version: u32) -> Arc<Self> {
        let context = Arc::new(Self {
            handle,
            device,
            flags: AtomicU32::new(flags),
            queue: Queue::new(device.number),
            api_version,
            quota: device.gpu.new_quota(),
            limits: Mutex::new(Limits::default()),
            belongings: Mutex::default(),
            broken: OnceLock::new(),
        });
        CONTEXTS.insert_as(handle, context.clone());
        context
    }

    /// Fails with the error that broke the context, from then on for ever, like the real driver.
    pub fn intact(&self) -> Answer {
        self.broken.get().map_or(Ok(()), |&code| Err(code))
    }

    pub fn break_with(&self, code: CUresult) {
        // The first error stays.
        let _ = self.broken.set(code);
    }

    pub fn limits(&self) -> MutexGuard<'_, Limits> {
        // A plain record: whole after a panic elsewhere.
        self.limits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that objects of this kind must be destroyed with the context.
    pub fn has(&self, kind: &'static dyn Belongings) {
        let mut belongings = self.belongings.lock().unwrap_or_else(PoisonError::into_inner);
        if !belongings.iter().any(|known| std::ptr::addr_eq(*known, kind)) {
            belongings.push(kind);
        }
    }

    pub fn register<T: OfContext + Send + Sync>(
        &self,
        kind: &'static Registry<T>,
        object: impl Into<Arc<T>>,
    ) -> Handle {
        let handle = new_handle();
        self.register_as(kind, handle, object);
        handle
    }

    /// The same for an object that knows its handle.
    pub fn register_as<T: OfContext + Send + Sync>(
        &self,
        kind: &'static Registry<T>,
        handle: Handle,
        object: impl Into<Arc<T>>,
    ) {
        self.has(kind);
        kind.insert_as(handle, object);
    }

    pub fn destroy(&self) {
        let _ = CONTEXTS.remove(self.handle);
        // Running work finishes first; the work of a broken context is dropped without running.
        let _ = self.queue.drain();
        self.queue.stop();
        let belongings = std::mem::take(&mut *self.belongings.lock().unwrap_or_else(PoisonError::into_inner));
        belongings.iter().for_each(|kind| kind.forget(self.handle));
        self.quota.clear();
    }
}

thread_local! {
    /// Contexts that this thread has pushed; the last is current. Never dropped: static objects of C++ give their memory back
    /// while the process ends, when the thread's other variables are gone.
    static STACK: RefCell<ManuallyDrop<Vec<CUcontext>>> = const { RefCell::new(ManuallyDrop::new(Vec::new())) };
}

pub fn with_stack<T>(act: impl FnOnce(&mut Vec<CUcontext>) -> T) -> T {
    STACK.with_borrow_mut(|stack| act(stack))
}

pub fn current_even_if_broken() -> Answer<Arc<Context>> {
    initialised()?;
    let handle = STACK.with_borrow(|stack| stack.last().copied()).filter(|&handle| handle != NONE);
    let handle = handle.ok_or(CUresult::INVALID_CONTEXT)?;
    CONTEXTS.get(handle).map_err(|_| CUresult::CONTEXT_IS_DESTROYED)
}

pub fn current() -> Answer<Arc<Context>> {
    let context = current_even_if_broken()?;
    context.intact()?;
    Ok(context)
}

/// The current context's device, or the first if there is none: for calls that need no context.
pub fn device_here() -> &'static Device {
    current_even_if_broken().map_or_else(|_| first(), |context| context.device)
}

/// For calls that name an object of a context: a thread without a current context may make them, as with the real
/// driver; one that has a current context needs it usable.
pub fn current_if_any() -> Answer {
    match current() {
        Err(CUresult::INVALID_CONTEXT) => initialised(),
        known => known.map(|_| ()),
    }
}

/// The same for calls that free things, which also work in a broken context.
pub fn current_if_any_even_if_broken() -> Answer {
    match current_even_if_broken() {
        Err(CUresult::INVALID_CONTEXT) => initialised(),
        known => known.map(|_| ()),
    }
}
