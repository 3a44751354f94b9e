//! Events: marks in streams, with the time at which they were reached.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use crate::abi::{Answer, CUcontext, CUevent, CUresult, CUstream, Out};
use crate::device::context::{CONTEXTS, current, current_if_any, current_if_any_even_if_broken};
use crate::device::graph::{self, Capture, Node};
use crate::device::queue::Mark;
use crate::device::registry::Registry;
use crate::device::stream::target;
use crate::device::work::Op;

pub static EVENTS: Registry<Event> = Registry::new(CUresult::INVALID_HANDLE);

const DISABLE_TIMING: u32 = 2;
const INTERPROCESS: u32 = 4;
const KNOWN_FLAGS: u32 = 7;

/// An event.
pub struct Event {
    pub context: CUcontext,
    flags: u32,
    state: Mutex<State>,
}

#[derive(Default)]
enum State {
    #[default]
    Never,
    Recorded {
        context: CUcontext,
        mark: Mark,
        time: Arc<OnceLock<Instant>>,
    },
    /// Recorded in a stream under capture: it stands for the nodes that lead to it.
    Captured {
        capture: Arc<Capture>,
        nodes: Vec<Arc<Node>>,
    },
}

impl Event {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a record that was issued.
    pub fn record(&self, context: CUcontext, mark: Mark, time: Arc<OnceLock<Instant>>) {
        *self.state() = State::Recorded { context, mark, time };
    }

    /// The mark of the last record, with its context.
    pub fn mark(&self) -> Option<(CUcontext, Mark)> {
        match &*self.state() {
            State::Recorded { context, mark, .. } => Some((*context, *mark)),
            _ => None,
        }
    }

    /// The capture that the event was recorded in, if that is still under way.
    pub fn capture(&self) -> Option<Arc<Capture>> {
        match &*self.state() {
            State::Captured { capture, .. } if capture.is_active() => Some(capture.clone()),
            _ => None,
        }
    }

    /// The nodes that the event stands for in a capture.
    pub fn captured_nodes(&self) -> Vec<Arc<Node>> {
        match &*self.state() {
            State::Captured { nodes, .. } => nodes.clone(),
            _ => Vec::new(),
        }
    }

    /// Waits until the last record is reached.
    pub fn synchronize(&self) -> Answer {
        if self.capture().is_some() {
            return Err(CUresult::CAPTURED_EVENT);
        }
        let Some((context, mark)) = self.mark() else { return Ok(()) };
        let Ok(context) = CONTEXTS.get(context) else { return Ok(()) };
        context.queue.wait(&[mark])?;
        context.intact()
    }

    /// When the last record was reached.
    fn time(&self) -> Answer<Instant> {
        match &*self.state() {
            State::Recorded { time, .. } if self.flags & DISABLE_TIMING == 0 => {
                time.get().copied().ok_or(CUresult::NOT_READY)
            }
            _ => Err(CUresult::INVALID_HANDLE),
        }
    }
}

pub fn cuEventCreate(event: Out<CUevent>, flags: u32) -> Answer {
    event.required()?;
    let context = current()?;
    if flags & !KNOWN_FLAGS != 0 || (flags & INTERPROCESS != 0 && flags & DISABLE_TIMING == 0) {
        return Err(CUresult::INVALID_VALUE);
    }
    if flags & INTERPROCESS != 0 {
        return crate::entry::unsupported("cuEventCreate for events that other processes share");
    }
    event.set(EVENTS.insert(Event { context: context.handle, flags, state: Mutex::default() }))
}

pub fn cuEventDestroy_v2(event: CUevent) -> Answer {
    current_if_any_even_if_broken()?;
    EVENTS.remove(event).map(|_| ())
}

pub fn cuEventRecord(event: CUevent, stream: CUstream) -> Answer {
    cuEventRecordWithFlags(event, stream, 0)
}

pub fn cuEventRecordWithFlags(event: CUevent, stream: CUstream, flags: u32) -> Answer {
    const EXTERNAL: u32 = 1;
    if flags & !EXTERNAL != 0 {
        return Err(CUresult::INVALID_VALUE);
    }
    let target = target(stream)?;
    let handle = event;
    let event = EVENTS.get(event)?;
    if event.context != target.context.handle {
        return Err(CUresult::INVALID_HANDLE);
    }
    if flags & EXTERNAL != 0 {
        // Only a graph has an outside: the record becomes a node of it.
        let capture = target.capture().ok_or(CUresult::INVALID_VALUE)?;
        return capture.add(&target, graph::record_of(handle)?);
    }
    if let Some(capture) = target.capture() {
        let nodes = capture.frontier(&target);
        *event.state() = State::Captured { capture, nodes };
        return Ok(());
    }
    let time = Arc::new(OnceLock::new());
    let mark = target.run(Op::Record(time.clone()))?;
    event.record(target.context.handle, mark, time);
    Ok(())
}

pub fn cuEventQuery(event: CUevent) -> Answer {
    current_if_any()?;
    let event = EVENTS.get(event)?;
    if event.capture().is_some() {
        return Err(CUresult::CAPTURED_EVENT);
    }
    match event.mark() {
        Some((context, mark)) if CONTEXTS.get(context).is_ok_and(|context| !context.queue.reached(&mark)) => {
            Err(CUresult::NOT_READY)
        }
        reached => {
            if let Some((context, mark)) = reached
                && let Ok(context) = CONTEXTS.get(context)
            {
                context.queue.learn(|order| order.host_waited(&[mark]));
            }
            CONTEXTS.get(event.context).map_or(Ok(()), |context| context.intact())
        }
    }
}

pub fn cuEventSynchronize(event: CUevent) -> Answer {
    current_if_any()?;
    EVENTS.get(event)?.synchronize()
}

/// Wall time between two events: how long the virtual device took, which says nothing of a real one.
pub fn cuEventElapsedTime(milliseconds: Out<f32>, start: CUevent, end: CUevent) -> Answer {
    milliseconds.required()?;
    current_if_any()?;
    let (start, end) = (EVENTS.get(start)?, EVENTS.get(end)?);
    if start.context != end.context {
        return Err(CUresult::INVALID_HANDLE);
    }
    // An event that was never recorded is an error even when the other one is not ready.
    let (start, end) = match (start.time(), end.time()) {
        (Err(CUresult::INVALID_HANDLE), _) | (_, Err(CUresult::INVALID_HANDLE)) => {
            return Err(CUresult::INVALID_HANDLE);
        }
        (start, end) => (start?, end?),
    };
    let seconds = if end >= start { (end - start).as_secs_f64() } else { -(start - end).as_secs_f64() };
    milliseconds.set((seconds * 1e3) as f32)
}
