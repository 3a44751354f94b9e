//! Events: marks in streams, with the time when they were reached.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use crate::abi::{Answer, CUcontext, CUgraphNodeType, CUresult};
use crate::objects::context::{CONTEXTS, Context};
use crate::objects::order::Mark;
use crate::objects::registry::{OfContext, Registry};
use crate::objects::stream::{CapturePoint, Target};
use crate::objects::work::{Nothing, Work};

pub static EVENTS: Registry<Event> = Registry::new(CUresult::INVALID_HANDLE);

pub const DISABLE_TIMING: u32 = 2;

/// When the work that records the time was reached.
pub type Time = Arc<OnceLock<Instant>>;

pub struct Record(pub Time);

impl Work for Record {
    fn kind(&self) -> CUgraphNodeType {
        CUgraphNodeType::EVENT_RECORD
    }

    fn perform(&self, _context: &Context) -> Answer {
        let _ = self.0.set(Instant::now());
        Ok(())
    }

    fn outlives_errors(&self) -> bool {
        true
    }
}

pub struct Event {
    context: CUcontext,
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
        time: Time,
    },
    Captured(Arc<dyn CapturePoint>),
}

impl OfContext for Event {
    fn context(&self) -> CUcontext {
        self.context
    }
}

impl Event {
    pub fn new(context: &Context, flags: u32) -> Self {
        Self { context: context.handle, flags, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn record_in(&self, target: &Target) -> Answer {
        if let Some(capture) = target.capture() {
            *self.state() = State::Captured(capture.point(target));
            return Ok(());
        }
        let time = Time::default();
        let mark = target.run(Record(time.clone()))?;
        self.recorded(target.context.handle, mark, time);
        Ok(())
    }

    /// Makes the stream's next work wait for the last record.
    pub fn wait_in(&self, target: &Target) -> Answer {
        if let Some(point) = self.capture() {
            return point.join(target);
        }
        if let Some(capture) = target.capture() {
            // An event from outside the capture: what it stands for is not part of the graph.
            capture.invalidate();
            return Err(CUresult::STREAM_CAPTURE_ISOLATION);
        }
        match self.mark() {
            // An event that was never recorded delays nothing.
            None => Ok(()),
            Some((_, mark)) => target.run_after(Arc::new(Nothing), vec![mark]).map(|_| ()),
        }
    }

    pub fn recorded(&self, context: CUcontext, mark: Mark, time: Time) {
        *self.state() = State::Recorded { context, mark, time };
    }

    pub fn mark(&self) -> Option<(CUcontext, Mark)> {
        match &*self.state() {
            State::Recorded { context, mark, .. } => Some((*context, *mark)),
            _ => None,
        }
    }

    pub fn capture(&self) -> Option<Arc<dyn CapturePoint>> {
        match &*self.state() {
            State::Captured(point) if point.is_active() => Some(point.clone()),
            _ => None,
        }
    }

    pub fn refuse_capture(&self) -> Answer {
        if self.capture().is_some() { Err(CUresult::CAPTURED_EVENT) } else { Ok(()) }
    }

    pub fn synchronize(&self) -> Answer {
        self.refuse_capture()?;
        let Some((context, mark)) = self.mark() else { return Ok(()) };
        let Ok(context) = CONTEXTS.get(context) else { return Ok(()) };
        context.queue.wait(&[mark])?;
        context.intact()
    }

    pub fn time(&self) -> Answer<Instant> {
        match &*self.state() {
            State::Recorded { time, .. } if self.flags & DISABLE_TIMING == 0 => {
                time.get().copied().ok_or(CUresult::NOT_READY)
            }
            _ => Err(CUresult::INVALID_HANDLE),
        }
    }
}
