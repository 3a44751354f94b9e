//! Nodes that record events or wait for them.
//!
//! A graph's launch is one piece of work to its stream. What its nodes wait for is waited for before the launch begins,
//! and an event that a node records is reached when the launch is done; its time is the node's own.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use super::{EXECUTABLES, Executable, add, change};
use crate::abi::{Answer, CUcontext, CUevent, CUgraph, CUgraphExec, CUgraphNode, CUresult, In, Out};
use crate::device::event::{EVENTS, Event};
use crate::device::queue::Mark;
use crate::device::work::Op;

/// An event in a graph.
#[derive(Clone)]
pub struct NodeEvent {
    /// Its handle.
    pub handle: CUevent,
    event: Arc<Event>,
    /// When a launch passed the node.
    pub time: Arc<OnceLock<Instant>>,
}

impl NodeEvent {
    fn of(handle: CUevent) -> Answer<Self> {
        Ok(Self { handle, event: EVENTS.get(handle)?, time: Arc::default() })
    }

    /// The same for another launch.
    pub fn again(&self) -> Self {
        Self { time: Arc::default(), ..self.clone() }
    }
}

/// The step that records an event.
pub fn record_of(event: CUevent) -> Answer<Op> {
    NodeEvent::of(event).map(Op::RecordEvent)
}

/// The step that waits for an event.
pub fn wait_of(event: CUevent) -> Answer<Op> {
    NodeEvent::of(event).map(Op::WaitEvent)
}

impl Executable {
    /// What a launch in a context waits for: the latest records of the events that its nodes wait for.
    pub fn waits(&self, context: CUcontext) -> Answer<Vec<Mark>> {
        let mut marks = Vec::new();
        for op in self.ops() {
            match &op {
                Op::WaitEvent(waited) => match waited.event.mark() {
                    Some((of, mark)) if of == context => marks.push(mark),
                    Some(_) => waited.event.synchronize()?,
                    None => {}
                },
                Op::Graph(child) => marks.extend(child.waits(context)?),
                _ => {}
            }
        }
        Ok(marks)
    }

    /// Tells the events that its nodes record that they are reached with a launch.
    pub fn recorded(&self, context: CUcontext, mark: Mark) {
        for op in self.ops() {
            match op {
                Op::RecordEvent(node) => node.event.record(context, mark, node.time),
                Op::Graph(child) => child.recorded(context, mark),
                _ => {}
            }
        }
    }
}

pub fn cuGraphAddEventRecordNode(
    place: Out<CUgraphNode>,
    graph: CUgraph,
    after: In<CUgraphNode>,
    count: usize,
    event: CUevent,
) -> Answer {
    add(place, graph, after, count, record_of(event)?)
}

pub fn cuGraphAddEventWaitNode(
    place: Out<CUgraphNode>,
    graph: CUgraph,
    after: In<CUgraphNode>,
    count: usize,
    event: CUevent,
) -> Answer {
    add(place, graph, after, count, wait_of(event)?)
}

pub fn cuGraphEventRecordNodeGetEvent(node: CUgraphNode, event: Out<CUevent>) -> Answer {
    event.required()?;
    match &*super::NODES.get(node)?.op() {
        Op::RecordEvent(node) => event.set(node.handle),
        _ => Err(CUresult::INVALID_VALUE),
    }
}

pub fn cuGraphEventWaitNodeGetEvent(node: CUgraphNode, event: Out<CUevent>) -> Answer {
    event.required()?;
    match &*super::NODES.get(node)?.op() {
        Op::WaitEvent(node) => event.set(node.handle),
        _ => Err(CUresult::INVALID_VALUE),
    }
}

pub fn cuGraphEventRecordNodeSetEvent(node: CUgraphNode, event: CUevent) -> Answer {
    change(node, record_of(event)?)
}

pub fn cuGraphEventWaitNodeSetEvent(node: CUgraphNode, event: CUevent) -> Answer {
    change(node, wait_of(event)?)
}

pub fn cuGraphExecEventRecordNodeSetEvent(exec: CUgraphExec, node: CUgraphNode, event: CUevent) -> Answer {
    EXECUTABLES.get(exec)?.change(node, record_of(event)?)
}

pub fn cuGraphExecEventWaitNodeSetEvent(exec: CUgraphExec, node: CUgraphNode, event: CUevent) -> Answer {
    EXECUTABLES.get(exec)?.change(node, wait_of(event)?)
}
