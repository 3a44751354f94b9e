//! Contexts: who owns allocations, streams and modules, and each host thread's stack of current ones.

use std::cell::RefCell;
use std::collections::HashMap;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::abi::{Answer, CUcontext, CUdevice, CUresult, Handle, Out};
use crate::device::devices::{NONE, device};
use crate::device::limits::Limits;
use crate::device::queue::Queue;
use crate::device::registry::{Registry, new_handle};
use crate::device::{event, gpu, initialised, module, stream};

pub static CONTEXTS: Registry<Context> = Registry::new(CUresult::INVALID_CONTEXT);

/// One context.
pub struct Context {
    /// How the program names it.
    pub handle: CUcontext,
    /// `CU_CTX_…` flags.
    pub flags: AtomicU32,
    /// Work that was issued and is not done.
    pub queue: Arc<Queue>,
    /// Limits that the program has set.
    pub limits: Mutex<Limits>,
    /// Device addresses that the context allocated, and how each came about.
    pub owned: Mutex<HashMap<u64, Origin>>,
    /// Modules that libraries have loaded here.
    pub library_modules: Mutex<HashMap<Handle, Handle>>,
    api_version: u32,
    /// The error that has made the context unusable.
    broken: OnceLock<CUresult>,
}

/// How an allocation came about: what may free it, and what is told of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// `cuMemAlloc` and its kin.
    Device,
    /// `cuMemAllocAsync`, from this pool.
    Pool(Handle),
    /// A node of a graph.
    Graph,
    /// `cuMemAllocManaged`.
    Managed,
    /// `cuMemAllocHost` and its kin.
    PinnedHost {
        /// `CU_MEMHOSTALLOC_…` flags.
        flags: u32,
    },
    /// `cuMemHostRegister`.
    Registered,
}

/// The driver version of the context interface that newer contexts report.
const API_VERSION: u32 = 3020;

impl Context {
    fn create(handle: CUcontext, flags: u32, api_version: u32) -> Arc<Self> {
        let context = Arc::new(Self {
            handle,
            flags: AtomicU32::new(flags),
            queue: Queue::new(),
            limits: Mutex::new(Limits::default()),
            owned: Mutex::default(),
            library_modules: Mutex::default(),
            api_version,
            broken: OnceLock::new(),
        });
        CONTEXTS.insert_as(handle, context.clone());
        context
    }

    /// Fails with the error that broke the context, from then on for ever, as the real driver does.
    pub fn intact(&self) -> Answer {
        self.broken.get().map_or(Ok(()), |&code| Err(code))
    }

    /// Makes the context unusable.
    pub fn break_with(&self, code: CUresult) {
        // The first error stays.
        let _ = self.broken.set(code);
    }

    /// The context's allocations.
    pub fn owned(&self) -> MutexGuard<'_, HashMap<u64, Origin>> {
        // One insertion or removal each: whole after a panic elsewhere.
        self.owned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the context and all that it owns from the program.
    fn destroy(&self) {
        let _ = CONTEXTS.remove(self.handle);
        // Work under way ends first; what is broken is dropped without running.
        // From inside a host function there is no waiting; its stream's work then ends behind our back.
        let _ = self.queue.drain();
        self.queue.stop();
        stream::STREAMS.remove_where(|stream| stream.context == self.handle);
        event::EVENTS.remove_where(|event| event.context == self.handle);
        module::forget_context(self.handle);
        for (address, origin) in self.owned().drain() {
            crate::device::host_memory::release(address, origin);
        }
    }
}

/// The primary context: made when it is first retained, destroyed with its last release.
#[derive(Default)]
struct Primary {
    context: Option<Arc<Context>>,
    retained: u32,
    flags: u32,
    /// The handle that it has each time it is made; programs keep it beyond the last release.
    handle: Option<CUcontext>,
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

static PRIMARY: Mutex<Primary> = Mutex::new(Primary { context: None, retained: 0, flags: 0, handle: None });

fn primary() -> MutexGuard<'static, Primary> {
    PRIMARY.lock().unwrap_or_else(PoisonError::into_inner)
}

thread_local! {
    /// Contexts that this thread has pushed; the last is current. Never dropped: static objects of C++ give their memory back
    /// while the process ends, when the thread's other variables are gone.
    static STACK: RefCell<ManuallyDrop<Vec<CUcontext>>> = const { RefCell::new(ManuallyDrop::new(Vec::new())) };
}

/// The current context of this thread, usable or not.
pub fn current_even_if_broken() -> Answer<Arc<Context>> {
    initialised()?;
    let handle = STACK.with_borrow(|stack| stack.last().copied()).filter(|&handle| handle != NONE);
    let handle = handle.ok_or(CUresult::INVALID_CONTEXT)?;
    CONTEXTS.get(handle).map_err(|_| CUresult::CONTEXT_IS_DESTROYED)
}

/// The current context of this thread.
pub fn current() -> Answer<Arc<Context>> {
    let context = current_even_if_broken()?;
    context.intact()?;
    Ok(context)
}

/// For calls that name an object of a context: a thread without a current context may make them, as with the real
/// driver; one that has a current context needs it usable.
pub fn current_if_any() -> Answer {
    match current() {
        Err(CUresult::INVALID_CONTEXT) => initialised(),
        known => known.map(|_| ()),
    }
}

/// The same for calls that free what a broken context holds, too.
pub fn current_if_any_even_if_broken() -> Answer {
    match current_even_if_broken() {
        Err(CUresult::INVALID_CONTEXT) => initialised(),
        known => known.map(|_| ()),
    }
}

const SCHEDULE_MASK: u32 = 7;
const FLAGS_MASK: u32 = 0xff;

/// Scheduling is one of four; everything else is a bit of the mask.
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
    _params_array: *mut std::ffi::c_void,
    num_params: i32,
    flags: u32,
    dev: CUdevice,
) -> Answer {
    if num_params != 0 {
        return Err(CUresult::UNSUPPORTED_EXEC_AFFINITY);
    }
    create(context, flags, dev, API_VERSION)
}

pub fn cuCtxCreate_v4(
    context: Out<CUcontext>,
    _params: *mut std::ffi::c_void,
    flags: u32,
    dev: CUdevice,
) -> Answer {
    create(context, flags, dev, API_VERSION)
}

fn create(place: Out<CUcontext>, flags: u32, dev: CUdevice, api_version: u32) -> Answer {
    initialised()?;
    place.required()?;
    device(dev)?;
    check_flags(flags)?;
    let context = Context::create(new_handle(), flags, api_version);
    STACK.with_borrow_mut(|stack| stack.push(context.handle));
    place.set(context.handle)
}

pub fn cuCtxDestroy_v2(context: CUcontext) -> Answer {
    initialised()?;
    if context == NONE {
        return Err(CUresult::INVALID_VALUE);
    }
    let found = CONTEXTS.get(context)?;
    if primary().context.as_ref().is_some_and(|primary| primary.handle == context) {
        return Err(CUresult::INVALID_CONTEXT);
    }
    STACK.with_borrow_mut(|stack| {
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
    // A context has one user; the program that attached to it detaches from its own.
    if current_even_if_broken()?.handle != context {
        return Err(CUresult::INVALID_CONTEXT);
    }
    cuCtxDestroy_v2(context)
}

/// Whether a thread may make it current: it lives, or it is the primary one, which may be retained again.
fn may_be_current(context: CUcontext) -> Answer {
    let living = CONTEXTS.get(context).map(|_| ());
    living.or_else(|gone| if primary().handle == Some(context) { Ok(()) } else { Err(gone) })
}

pub fn cuCtxPushCurrent_v2(context: CUcontext) -> Answer {
    initialised()?;
    may_be_current(context)?;
    STACK.with_borrow_mut(|stack| stack.push(context));
    Ok(())
}

pub fn cuCtxPopCurrent_v2(place: Out<CUcontext>) -> Answer {
    initialised()?;
    let popped = STACK.with_borrow_mut(|stack| stack.pop()).ok_or(CUresult::INVALID_CONTEXT)?;
    place.set_if_given(popped);
    Ok(())
}

pub fn cuCtxSetCurrent(context: CUcontext) -> Answer {
    initialised()?;
    if context != NONE {
        may_be_current(context)?;
    }
    STACK.with_borrow_mut(|stack| {
        stack.pop();
        if context != NONE {
            stack.push(context);
        }
    });
    Ok(())
}

pub fn cuCtxGetCurrent(place: Out<CUcontext>) -> Answer {
    initialised()?;
    place.set(STACK.with_borrow(|stack| stack.last().copied()).unwrap_or(NONE))
}

pub fn cuCtxGetDevice(place: Out<CUdevice>) -> Answer {
    place.required()?;
    current_even_if_broken()?;
    place.set(0)
}

pub fn cuCtxGetDevice_v2(place: Out<CUdevice>, context: CUcontext) -> Answer {
    place.required()?;
    initialised()?;
    given_or_current(context)?;
    place.set(0)
}

/// The context of a handle, where null means the current one.
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

pub fn cuCtxSynchronize() -> Answer {
    cuCtxSynchronize_v2(NONE)
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
    device(dev)?;
    let mut primary = primary();
    let flags = primary.flags;
    let handle = *primary.handle.get_or_insert_with(new_handle);
    let context = primary.context.get_or_insert_with(|| Context::create(handle, flags, API_VERSION)).clone();
    primary.retained += 1;
    place.set(context.handle)
}

pub fn cuDevicePrimaryCtxRelease_v2(dev: CUdevice) -> Answer {
    device(dev)?;
    let mut primary = primary();
    if primary.retained == 0 {
        return Err(CUresult::INVALID_CONTEXT);
    }
    primary.retained -= 1;
    if primary.retained == 0 {
        primary.destroy();
    }
    Ok(())
}

pub fn cuDevicePrimaryCtxReset_v2(dev: CUdevice) -> Answer {
    device(dev)?;
    let mut primary = primary();
    primary.retained = 0;
    primary.destroy();
    Ok(())
}

pub fn cuDevicePrimaryCtxGetState(dev: CUdevice, flags: Out<u32>, active: Out<i32>) -> Answer {
    flags.required()?;
    active.required()?;
    device(dev)?;
    let primary = primary();
    let context = primary.context.as_ref();
    flags.set(context.map_or(primary.flags, |context| context.flags.load(Ordering::Relaxed)))?;
    active.set(context.is_some().into())
}

pub fn cuDevicePrimaryCtxSetFlags_v2(dev: CUdevice, flags: u32) -> Answer {
    device(dev)?;
    check_flags(flags)?;
    let mut primary = primary();
    primary.flags = flags;
    if let Some(context) = &primary.context {
        context.flags.store(flags, Ordering::Relaxed);
    }
    Ok(())
}

pub fn cuCtxEnablePeerAccess(context: CUcontext, flags: u32) -> Answer {
    let current = current()?;
    let peer = CONTEXTS.get(context)?;
    if flags != 0 {
        return Err(CUresult::INVALID_VALUE);
    }
    // One device is no peer of itself.
    Err(if peer.handle == current.handle {
        CUresult::INVALID_DEVICE
    } else {
        CUresult::PEER_ACCESS_UNSUPPORTED
    })
}

pub fn cuCtxDisablePeerAccess(context: CUcontext) -> Answer {
    current()?;
    CONTEXTS.get(context)?;
    Err(CUresult::PEER_ACCESS_NOT_ENABLED)
}

/// Device addresses that living contexts have allocated.
pub fn owner_of(address: u64) -> Option<(Arc<Context>, Origin)> {
    CONTEXTS.all().into_iter().find_map(|context| {
        let origin = context.owned().get(&address).copied()?;
        Some((context, origin))
    })
}

/// All of the device's memory that no allocation has, and all that it has.
pub fn memory_info() -> (u64, u64) {
    gpu().memory().info()
}
