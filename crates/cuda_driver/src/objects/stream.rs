//! Streams: where work is issued, and captures, which take it instead of running it.

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::abi::{Answer, CUcontext, CUdeviceptr, CUevent, CUresult, CUstream, Handle};
use crate::objects::call;
use crate::objects::context::{CONTEXTS, Context, current, current_if_any_even_if_broken};
use crate::objects::kept_attributes::KeptAttributes;
use crate::objects::limits::LEAST_PRIORITY;
use crate::objects::order::Mark;
use crate::objects::registry::{OfContext, Registry, new_handle};
use crate::objects::work::Work;

pub static STREAMS: Registry<Stream> = Registry::new(CUresult::INVALID_HANDLE);

/// The context's default stream, as a program names it.
const LEGACY: CUstream = 1;
/// The calling thread's own default stream, as a program names it.
const PER_THREAD: CUstream = 2;

pub const NON_BLOCKING: u32 = 1;

pub struct Stream {
    pub handle: CUstream,
    /// `CU_STREAM_…` flags.
    pub flags: u32,
    context: CUcontext,
    priority: i32,
    attributes: Mutex<KeptAttributes>,
    capture: Mutex<Option<Arc<dyn Capture>>>,
}

impl OfContext for Stream {
    fn context(&self) -> CUcontext {
        self.context
    }
}

impl Stream {
    pub fn open(context: &Context, flags: u32, priority: i32) -> Arc<Self> {
        let handle = new_handle();
        context.queue.open(handle, flags & NON_BLOCKING == 0);
        let stream = Arc::new(Self {
            handle,
            flags,
            context: context.handle,
            priority,
            attributes: Mutex::default(),
            capture: Mutex::new(None),
        });
        context.register_as(&STREAMS, handle, stream.clone());
        stream
    }

    pub fn attributes(&self) -> MutexGuard<'_, KeptAttributes> {
        // A plain record: whole after a panic elsewhere.
        self.attributes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn capture(&self) -> MutexGuard<'_, Option<Arc<dyn Capture>>> {
        self.capture.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes the work of streams instead of running it.
pub trait Capture: Any + Send + Sync {
    fn add(&self, target: &Target, work: Arc<dyn Work>) -> Answer;
    fn allocate(&self, target: &Target, bytes: usize) -> Answer<CUdeviceptr>;
    /// Takes the freeing of memory that it has allocated.
    fn free(&self, target: &Target, address: CUdeviceptr) -> Answer;
    fn record(&self, target: &Target, event: CUevent) -> Answer;
    fn wait(&self, target: &Target, event: CUevent) -> Answer;
    fn point(self: Arc<Self>, target: &Target) -> Arc<dyn CapturePoint>;
    /// Makes it fail in the end: something was done that cannot be captured.
    fn invalidate(&self);
}

/// A position in a capture, which an event stands for.
pub trait CapturePoint: Send + Sync {
    fn is_active(&self) -> bool;
    /// Makes a stream wait for it, which brings the stream into the capture.
    fn join(&self, target: &Target) -> Answer;
}

/// The number of captures in progress in the process: usually none, which then costs nothing.
pub static CAPTURES: AtomicUsize = AtomicUsize::new(0);

/// Invalidates the captures of a context's streams; returns whether there are any.
fn invalidate_captures(context: &Context, of: impl Fn(&Stream) -> bool) -> bool {
    if CAPTURES.load(Ordering::Relaxed) == 0 {
        return false;
    }
    let mut found = false;
    for stream in STREAMS.all().iter().filter(|stream| stream.context == context.handle && of(stream)) {
        if let Some(capture) = &*stream.capture() {
            capture.invalidate();
            found = true;
        }
    }
    found
}

/// A whole-context wait would wait for work that a capture has not run.
pub fn refuse_if_capturing(context: &Context) -> Answer {
    if invalidate_captures(context, |_| true) { Err(CUresult::STREAM_CAPTURE_UNSUPPORTED) } else { Ok(()) }
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
    pub fn capture(&self) -> Option<Arc<dyn Capture>> {
        self.stream.as_ref()?.capture().clone()
    }

    /// Fails on a stream under capture, and invalidates the capture.
    pub fn refuse_capture(&self) -> Answer {
        let Some(capture) = self.capture() else { return Ok(()) };
        capture.invalidate();
        Err(CUresult::STREAM_CAPTURE_UNSUPPORTED)
    }

    /// Work on the legacy default stream would wait for streams that are being captured, which do not run.
    pub fn refuse_if_it_waits_for_a_capture(&self) -> Answer {
        let blocking = |stream: &Stream| stream.flags & NON_BLOCKING == 0;
        if self.stream.is_none() && invalidate_captures(&self.context, blocking) {
            return Err(CUresult::STREAM_CAPTURE_IMPLICIT);
        }
        Ok(())
    }

    /// The stream's priority; lower numbers come first.
    pub fn priority(&self) -> i32 {
        self.stream.as_ref().map_or(LEAST_PRIORITY, |stream| stream.priority)
    }

    /// Issues work, or hands it to the capture.
    pub fn issue(&self, work: impl Work) -> Answer {
        if let Some(capture) = self.capture() {
            return capture.add(self, Arc::new(work));
        }
        self.refuse_if_it_waits_for_a_capture()?;
        self.run(work).map(|_| ())
    }

    pub fn run(&self, work: impl Work) -> Answer<Mark> {
        self.run_after(Arc::new(work), Vec::new())
    }

    pub fn run_after(&self, work: Arc<dyn Work>, after: Vec<Mark>) -> Answer<Mark> {
        self.context.queue.issue(self.queue, after, work.task(&self.context))
    }

    /// Waits for everything issued here before; fails like the driver on a stream under capture.
    pub fn synchronize(&self) -> Answer {
        self.refuse_capture()?;
        self.context.queue.wait(&self.context.queue.marks_before(self.queue))?;
        self.context.queue.learn(|order| order.host_waited_for(self.queue));
        self.context.intact()
    }
}

thread_local! {
    /// This thread's own default stream in each context. Never dropped, as the stack of contexts.
    static OWN: RefCell<ManuallyDrop<HashMap<CUcontext, CUstream>>> = RefCell::default();
}

fn own_stream(context: &Arc<Context>) -> Arc<Stream> {
    let known = OWN.with_borrow(|own| own.get(&context.handle).copied());
    if let Some(stream) = known.and_then(|handle| STREAMS.get(handle).ok()) {
        return stream;
    }
    let stream = Stream::open(context, 0, LEAST_PRIORITY);
    OWN.with_borrow_mut(|own| own.insert(context.handle, stream.handle));
    stream
}

pub fn target(stream: CUstream) -> Answer<Target> {
    let legacy = || {
        let context = current()?;
        Ok(Target { queue: context.queue.legacy, context, stream: None })
    };
    let own = || {
        let context = current()?;
        let stream = own_stream(&context);
        Ok(Target { context, queue: stream.handle, stream: Some(stream) })
    };
    match stream {
        0 if call::null_stream_is_per_thread() => own(),
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

/// Closes a stream; work issued to it still runs.
pub fn close(stream: CUstream) -> Answer {
    let found = STREAMS.get(stream)?;
    if let Ok(context) = CONTEXTS.get(found.context) {
        context.queue.close(stream);
    }
    STREAMS.remove(stream).map(|_| ())
}
