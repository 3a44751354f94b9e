//! Nodes that record events or wait for them.
//!
//! A graph's launch is one piece of work in its stream. The launch waits for its nodes' events before it begins, and
//! the events its nodes record are reached when the launch is done; their times are the nodes' own.

use std::sync::Arc;
use std::time::Instant;

use super::{Executable, NODES};
use crate::abi::{Answer, CUcontext, CUevent, CUgraphNode, CUgraphNodeType, CUresult, Out};
use crate::objects::context::Context;
use crate::objects::event::{EVENTS, Event, Time};
use crate::objects::order::Mark;
use crate::objects::work::Work;

pub struct RecordEvent {
    handle: CUevent,
    event: Arc<Event>,
    /// When the launch passed the node.
    time: Time,
}

impl RecordEvent {
    /// The same for another launch.
    pub fn again(&self) -> Self {
        Self { handle: self.handle, event: self.event.clone(), time: Time::default() }
    }
}

impl Work for RecordEvent {
    fn kind(&self) -> CUgraphNodeType {
        CUgraphNodeType::EVENT_RECORD
    }

    fn perform(&self, _context: &Context) -> Answer {
        let _ = self.time.set(Instant::now());
        Ok(())
    }

    fn outlives_errors(&self) -> bool {
        true
    }
}

/// Waits for an event: done before the graph's launch begins.
pub struct WaitEvent {
    handle: CUevent,
    event: Arc<Event>,
}

impl Work for WaitEvent {
    fn kind(&self) -> CUgraphNodeType {
        CUgraphNodeType::WAIT_EVENT
    }

    fn perform(&self, _context: &Context) -> Answer {
        Ok(())
    }
}

pub fn record_of(handle: CUevent) -> Answer<Arc<dyn Work>> {
    Ok(Arc::new(RecordEvent { handle, event: EVENTS.get(handle)?, time: Time::default() }))
}

pub fn wait_of(handle: CUevent) -> Answer<Arc<dyn Work>> {
    Ok(Arc::new(WaitEvent { handle, event: EVENTS.get(handle)? }))
}

impl Executable {
    /// A launch's dependencies: the latest records of its wait nodes' events.
    pub fn waits(&self) -> Vec<Mark> {
        let mut marks = Vec::new();
        for work in self.works() {
            if let Some(waited) = work.as_kind::<WaitEvent>() {
                marks.extend(waited.event.mark().map(|(_, mark)| mark));
            } else if let Some(child) = work.as_kind::<Self>() {
                marks.extend(child.waits());
            }
        }
        marks
    }

    /// Marks the events that its nodes record as reached by a launch.
    pub fn recorded(&self, context: CUcontext, mark: Mark) {
        for work in self.works() {
            if let Some(node) = work.as_kind::<RecordEvent>() {
                node.event.recorded(context, mark, node.time.clone());
            } else if let Some(child) = work.as_kind::<Self>() {
                child.recorded(context, mark);
            }
        }
    }
}

pub fn cuGraphEventRecordNodeGetEvent(node: CUgraphNode, event: Out<CUevent>) -> Answer {
    event.required()?;
    let work = NODES.get(node)?.work().clone();
    event.set(work.as_kind::<RecordEvent>().ok_or(CUresult::INVALID_VALUE)?.handle)
}

pub fn cuGraphEventWaitNodeGetEvent(node: CUgraphNode, event: Out<CUevent>) -> Answer {
    event.required()?;
    let work = NODES.get(node)?.work().clone();
    event.set(work.as_kind::<WaitEvent>().ok_or(CUresult::INVALID_VALUE)?.handle)
}
