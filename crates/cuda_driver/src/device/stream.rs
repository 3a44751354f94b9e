//! Streams: where work is issued.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, PoisonError};

use crate::abi::{Answer, CUcontext, CUevent, CUhostFn, CUresult, CUstream, CUstreamCallback, Handle, Out};
use crate::device::context::{CONTEXTS, Context, current, current_if_any_even_if_broken};
use crate::device::event::EVENTS;
use crate::device::graph::{self, Capture, KeptAttributes};
use crate::device::limits::{GREATEST_PRIORITY, LEAST_PRIORITY};
use crate::device::queue::{LEGACY, Mark, Work};
use crate::device::registry::Registry;
use crate::device::work::{HostCall, Op};
use crate::entry;

pub static STREAMS: Registry<Stream> = Registry::new(CUresult::INVALID_HANDLE);

/// The calling thread's own default stream, as a program names it.
const PER_THREAD: CUstream = 2;

const NON_BLOCKING: u32 = 1;

/// A stream that a program has made, or a thread's own.
pub struct Stream {
    pub handle: CUstream,
    pub context: CUcontext,
    flags: u32,
    priority: i32,
    /// Attributes that were set.
    pub attributes: Mutex<KeptAttributes>,
    /// The capture that takes the work instead of running it.
    pub capture: Mutex<Option<Arc<Capture>>>,
}

impl Stream {
    /// Whether it keeps the legacy default stream's order.
    pub fn is_blocking(&self) -> bool {
        self.flags & NON_BLOCKING == 0
    }
}

/// Where a call's work goes.
#[derive(Clone)]
pub struct Target {
    pub context: Arc<Context>,
    pub queue: Handle,
    /// The stream's record; the legacy default stream has none.
    pub stream: Option<Arc<Stream>>,
}

impl Target {
    /// The capture that is under way on the stream.
    pub fn capture(&self) -> Option<Arc<Capture>> {
        self.stream.as_ref()?.capture.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The stream's priority; lower numbers come first.
    pub fn priority(&self) -> i32 {
        self.stream.as_ref().map_or(LEAST_PRIORITY, |stream| stream.priority)
    }

    /// Issues work, or adds it to the graph that is being captured.
    pub fn issue(&self, op: Op) -> Answer {
        if let Some(capture) = self.capture() {
            return capture.add(self, op);
        }
        graph::refuse_if_global_capture_forbids(self)?;
        self.run(op).map(|_| ())
    }

    /// Issues work that is not captured.
    pub fn run(&self, op: Op) -> Answer<Mark> {
        self.run_after(op, Vec::new())
    }

    /// Issues work that waits for more than its own stream.
    pub fn run_after(&self, op: Op, after: Vec<Mark>) -> Answer<Mark> {
        let host = op.calls_host();
        let ready = op.condition(&self.context);
        let context = self.context.clone();
        let run = Box::new(move || op.run(&context));
        self.context.queue.issue(self.queue, after, Work { run, host, ready })
    }

    /// Waits for what was issued here before; fails as the driver does on a stream under capture.
    pub fn synchronize(&self) -> Answer {
        if let Some(capture) = self.capture() {
            capture.invalidate();
            return Err(CUresult::STREAM_CAPTURE_UNSUPPORTED);
        }
        self.context.queue.wait(&self.context.queue.marks_before(self.queue))?;
        self.context.queue.learn(|order| order.host_waited_for(self.queue));
        self.context.intact()
    }
}

thread_local! {
    /// This thread's own default stream in each context. Never dropped, as the stack of contexts.
    static OWN: RefCell<ManuallyDrop<HashMap<CUcontext, CUstream>>> = RefCell::default();
}

fn own_stream(context: &Arc<Context>) -> Answer<Arc<Stream>> {
    let known = OWN.with_borrow(|own| own.get(&context.handle).copied());
    if let Some(stream) = known.and_then(|handle| STREAMS.get(handle).ok()) {
        return Ok(stream);
    }
    let stream = open(context, 0, LEAST_PRIORITY);
    OWN.with_borrow_mut(|own| own.insert(context.handle, stream.handle));
    Ok(stream)
}

fn open(context: &Context, flags: u32, priority: i32) -> Arc<Stream> {
    let handle = crate::device::registry::new_handle();
    context.queue.open(handle, flags & NON_BLOCKING == 0);
    let stream = Arc::new(Stream {
        handle,
        context: context.handle,
        flags,
        priority,
        attributes: Mutex::default(),
        capture: Mutex::new(None),
    });
    STREAMS.insert_as(handle, stream.clone());
    stream
}

/// Resolves what a program names as a stream.
pub fn target(stream: CUstream) -> Answer<Target> {
    let legacy = || Ok(Target { context: current()?, queue: LEGACY, stream: None });
    let own = || {
        let context = current()?;
        let stream = own_stream(&context)?;
        Ok(Target { context, queue: stream.handle, stream: Some(stream) })
    };
    match stream {
        0 if entry::null_stream_is_per_thread() => own(),
        0 | LEGACY => legacy(),
        PER_THREAD => own(),
        _ => {
            // The stream brings its context; the thread needs none.
            current_if_any_even_if_broken()?;
            let stream = STREAMS.get(stream)?;
            let context = CONTEXTS.get(stream.context).map_err(|_| CUresult::CONTEXT_IS_DESTROYED)?;
            context.intact()?;
            Ok(Target { context, queue: stream.handle, stream: Some(stream) })
        }
    }
}

/// The default stream of the call, for calls that name none.
pub fn default_target() -> Answer<Target> {
    target(0)
}

/// A whole-context wait would wait for work that a capture has not run.
pub fn refuse_if_capturing(context: &Context) -> Answer {
    if !graph::any_capture() {
        return Ok(());
    }
    let mut capturing = false;
    for stream in STREAMS.all() {
        if stream.context == context.handle
            && let Some(capture) = stream.capture.lock().unwrap_or_else(PoisonError::into_inner).as_ref()
        {
            capture.invalidate();
            capturing = true;
        }
    }
    if capturing { Err(CUresult::STREAM_CAPTURE_UNSUPPORTED) } else { Ok(()) }
}

pub fn cuStreamCreate(stream: Out<CUstream>, flags: u32) -> Answer {
    create(stream, flags, LEAST_PRIORITY)
}

pub fn cuStreamCreateWithPriority(stream: Out<CUstream>, flags: u32, priority: i32) -> Answer {
    create(stream, flags, priority)
}

fn create(place: Out<CUstream>, flags: u32, priority: i32) -> Answer {
    place.required()?;
    let context = current()?;
    if flags & !NON_BLOCKING != 0 {
        return Err(CUresult::INVALID_VALUE);
    }
    place.set(open(&context, flags, priority.clamp(GREATEST_PRIORITY, LEAST_PRIORITY)).handle)
}

pub fn cuStreamDestroy_v2(stream: CUstream) -> Answer {
    current_if_any_even_if_broken()?;
    let found = STREAMS.get(stream)?;
    if let Ok(context) = CONTEXTS.get(found.context) {
        context.queue.close(stream);
    }
    STREAMS.remove(stream)?;
    Ok(())
}

pub fn cuStreamSynchronize(stream: CUstream) -> Answer {
    target(stream)?.synchronize()
}

pub fn cuStreamQuery(stream: CUstream) -> Answer {
    let target = target(stream)?;
    if let Some(capture) = target.capture() {
        capture.invalidate();
        return Err(CUresult::STREAM_CAPTURE_UNSUPPORTED);
    }
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
    id.set(target(stream)?.queue as u64)
}

pub fn cuStreamGetDevice(stream: CUstream, device: Out<i32>) -> Answer {
    device.required()?;
    target(stream)?;
    device.set(0)
}

pub fn cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: u32) -> Answer {
    const EXTERNAL: u32 = 1;
    if flags & !EXTERNAL != 0 {
        return Err(CUresult::INVALID_VALUE);
    }
    let target = target(stream)?;
    let handle = event;
    let event = EVENTS.get(event)?;
    if flags & EXTERNAL != 0 {
        // Only a graph has an outside: the wait becomes a node of it.
        let capture = target.capture().ok_or(CUresult::INVALID_VALUE)?;
        return capture.add(&target, graph::wait_of(handle)?);
    }
    if let Some(capture) = event.capture() {
        return capture.join(&target, &event);
    }
    if let Some(capture) = target.capture() {
        // An event from outside of the capture: what it stands for is no part of the graph.
        capture.invalidate();
        return Err(CUresult::STREAM_CAPTURE_ISOLATION);
    }
    match event.mark() {
        // An event that was never recorded holds nothing up.
        None => Ok(()),
        Some((context, _)) if context != target.context.handle => event.synchronize(),
        Some((_, mark)) => target.run_after(Op::Nothing, vec![mark]).map(|_| ()),
    }
}

pub fn cuLaunchHostFunc(stream: CUstream, function: CUhostFn, user_data: *mut c_void) -> Answer {
    let function = function.ok_or(CUresult::INVALID_VALUE)?;
    target(stream)?.issue(Op::Host(HostCall::Function { function, data: user_data as usize }))
}

pub fn cuLaunchHostFunc_v2(
    stream: CUstream,
    function: CUhostFn,
    user_data: *mut c_void,
    sync_mode: u32,
) -> Answer {
    // Whether the stream's thread spins or sleeps before the call decides nothing here.
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
    if let Some(capture) = target.capture() {
        capture.invalidate();
        return Err(CUresult::STREAM_CAPTURE_UNSUPPORTED);
    }
    target.issue(Op::Host(HostCall::Callback { callback, stream, data: user_data as usize }))
}

pub fn cuStreamAttachMemAsync(stream: CUstream, dptr: u64, _length: usize, _flags: u32) -> Answer {
    let target = target(stream)?;
    crate::device::memory::allocation(dptr)?;
    target.issue(Op::Nothing)
}
