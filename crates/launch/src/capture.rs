//! Stream capture: what this thread launches goes into a graph instead of running.
//!
//! It has a stream of its own, so that what other threads put on the device's meanwhile is not captured; and nothing of it is
//! forbidden to them, as the mode is relaxed. [`refuse`] stands where this thread would wait, or see memory that the captured
//! work has not written yet: the driver would invalidate the capture there, and name neither.

use std::cell::{Cell, RefCell};
use std::ptr;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use cust::sys;

use crate::device::DeviceContext;
use crate::error::{Error, ErrorContext};
use crate::extra::result;
use crate::stream::Stream;

thread_local! {
    /// The context that this thread captures for, or null.
    static CAPTURING: Cell<*const DeviceContext> = const { Cell::new(ptr::null()) };
    /// The first task that was refused. A graph of such a capture may lack work, or use memory that is gone.
    static REFUSED: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// The process captures one graph at a time: the driver ends a capture if another thread waits for the whole context, which devices
/// of one GPU share.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The stream of a context's captures.
#[derive(Default)]
pub(crate) struct CaptureStream {
    stream: OnceLock<Stream>,
}

/// Tells whether this thread captures for the context.
pub(crate) fn captures_for(device_context: &DeviceContext) -> bool {
    CAPTURING.get() == ptr::from_ref(device_context)
}

/// The stream that launches of this thread go to.
pub(crate) fn stream_of(device_context: &DeviceContext) -> &Stream {
    match device_context.captures.stream.get() {
        Some(stream) if captures_for(device_context) => stream,
        _ => &device_context.stream,
    }
}

/// Refuses a task that waits or copies while this thread captures; the capture then fails, too.
pub(crate) fn refuse(device_context: &DeviceContext, task: impl FnOnce() -> String) -> Result<(), Error> {
    if !captures_for(device_context) {
        return Ok(());
    }
    Err(refused(task()))
}

/// The refusal of a task, after which the capture fails, too.
fn refused(task: String) -> Error {
    REFUSED.with_borrow_mut(|refused| {
        refused.get_or_insert_with(|| task.clone());
    });
    Error::Captured { task }
}

/// Keeps captures away, for a task that this thread must not do while it captures itself.
pub(crate) fn between_captures(task: impl FnOnce() -> String) -> Result<MutexGuard<'static, ()>, Error> {
    if !CAPTURING.get().is_null() {
        return Err(refused(task()));
    }
    // It guards no data.
    Ok(ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner))
}

/// A captured graph.
pub(crate) struct CapturedGraph(pub sys::CUgraph);

impl Drop for CapturedGraph {
    fn drop(&mut self) {
        // SAFETY: it is ours alone. What was made of it does not need it.
        unsafe { sys::cuGraphDestroy(self.0) };
    }
}

/// A capture in progress.
struct ActiveCapture<'d> {
    stream: &'d Stream,
    _one_at_a_time: MutexGuard<'static, ()>,
}

/// Captures what `record` launches in this thread. The context is current.
pub(crate) fn capture(
    device_context: &DeviceContext,
    record: impl FnOnce() -> Result<(), Error>,
) -> Result<CapturedGraph, Error> {
    refuse(device_context, || "capture another graph".into())?;
    let one_at_a_time = between_captures(|| "capture a graph on another device".into())?;
    let known = &device_context.captures.stream;
    let stream = match known.get() {
        Some(stream) => stream,
        None => {
            let made = Stream::for_captures().context("make a stream for captures")?;
            known.get_or_init(|| made)
        }
    };
    let relaxed = sys::CUstreamCaptureMode_enum::CU_STREAM_CAPTURE_MODE_RELAXED;
    // SAFETY: the stream is alive; `ActiveCapture` ends the capture.
    result(unsafe { sys::cuStreamBeginCapture_v2(stream.as_inner(), relaxed) }).context("begin a capture")?;
    let active = ActiveCapture { stream, _one_at_a_time: one_at_a_time };
    REFUSED.set(None);
    CAPTURING.set(device_context);
    let recorded = record();
    let ended = active.end();
    recorded?;
    match REFUSED.take() {
        Some(task) => Err(Error::Captured { task }),
        None => ended,
    }
}

impl ActiveCapture<'_> {
    /// Ends the capture.
    fn end(&self) -> Result<CapturedGraph, Error> {
        CAPTURING.set(ptr::null());
        let mut graph = ptr::null_mut();
        // SAFETY: it was begun on this stream; the place is valid for the call.
        let ended = result(unsafe { sys::cuStreamEndCapture(self.stream.as_inner(), &mut graph) });
        ended.map(|()| CapturedGraph(graph)).context("capture the graph, whose stream was waited for")
    }
}

impl Drop for ActiveCapture<'_> {
    /// Ends the capture if the recording panicked.
    fn drop(&mut self) {
        if !CAPTURING.get().is_null() {
            drop(self.end());
        }
    }
}
