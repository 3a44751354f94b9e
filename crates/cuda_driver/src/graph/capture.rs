//! Stream capture: work goes into a graph instead of running.

use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

use super::edges::{EdgeData, PLAIN};
use super::{GRAPHS, Graph, NODES, Node, captured_allocation, free_of, record_of, wait_of};
use crate::abi::{
    Answer, CUdeviceptr, CUevent, CUgraph, CUgraphNode, CUresult, CUstream, CUstreamCaptureMode,
    CUstreamCaptureStatus, Handle, In, Out,
};
use crate::objects::registry::new_handle;
use crate::objects::stream::{CAPTURES, Capture, CapturePoint, STREAMS, Stream, Target, target};
use crate::objects::work::Work;

struct GraphCapture {
    id: u64,
    graph: Arc<Graph>,
    graph_handle: CUgraph,
    /// The nodes that the graph already had.
    before: Vec<CUgraphNode>,
    given: bool,
    origin: CUstream,
    /// The thread that must end the capture; any may end a relaxed one.
    thread: Option<ThreadId>,
    state: Mutex<State>,
}

struct State {
    status: Status,
    /// The latest nodes of each participating stream.
    frontiers: HashMap<Handle, Vec<Arc<Node>>>,
    /// Returned by `cuStreamGetCaptureInfo`, valid until the next call on the stream: nodes, and the data of the edges to
    /// them.
    shown: (Vec<CUgraphNode>, Vec<EdgeData>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Status {
    Active,
    Invalid,
    Ended,
}

impl GraphCapture {
    fn of(target: &Target) -> Option<Arc<Self>> {
        let capture: Arc<dyn Any + Send + Sync> = target.capture()?;
        capture.downcast().ok()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_active(&self) -> bool {
        self.state().status == Status::Active
    }

    /// Whether everything captured leads to what the origin stream would do next.
    fn is_joined(&self, state: &State) -> bool {
        let nodes = self.graph.nodes();
        let last = state.frontiers.get(&self.origin);
        nodes.iter().filter(|node| !self.before.contains(&node.handle)).all(|node| {
            nodes.iter().any(|other| other.after().contains(&node.handle))
                || last.is_some_and(|last| last.iter().any(|last| last.handle == node.handle))
        })
    }
}

impl Capture for GraphCapture {
    /// Adds work after what the stream has captured so far.
    fn add(&self, target: &Target, work: Arc<dyn Work>) -> Answer {
        let mut state = self.state();
        if state.status != Status::Active {
            return Err(CUresult::STREAM_CAPTURE_INVALIDATED);
        }
        let frontier = state.frontiers.entry(target.queue).or_default();
        let after = frontier.iter().map(|node| node.handle).collect();
        let node = self.graph.add(self.graph_handle, work, after, None)?;
        *frontier = vec![node];
        Ok(())
    }

    fn allocate(&self, target: &Target, bytes: usize) -> Answer<CUdeviceptr> {
        let memory = captured_allocation(target.context.device, bytes)?;
        let address = memory.address;
        self.add(target, memory)?;
        Ok(address)
    }

    fn free(&self, target: &Target, address: CUdeviceptr) -> Answer {
        self.add(target, free_of(address)?)
    }

    fn record(&self, target: &Target, event: CUevent) -> Answer {
        self.add(target, record_of(event)?)
    }

    fn wait(&self, target: &Target, event: CUevent) -> Answer {
        self.add(target, wait_of(event)?)
    }

    fn point(self: Arc<Self>, target: &Target) -> Arc<dyn CapturePoint> {
        let nodes = self.state().frontiers.get(&target.queue).cloned().unwrap_or_default();
        Arc::new(Point { capture: self, nodes })
    }

    fn invalidate(&self) {
        let mut state = self.state();
        if state.status == Status::Active {
            state.status = Status::Invalid;
        }
    }
}

/// The latest nodes of a stream.
struct Point {
    capture: Arc<GraphCapture>,
    nodes: Vec<Arc<Node>>,
}

impl CapturePoint for Point {
    fn is_active(&self) -> bool {
        self.capture.is_active()
    }

    fn join(&self, target: &Target) -> Answer {
        let stream = target.stream.as_ref().ok_or(CUresult::STREAM_CAPTURE_IMPLICIT)?;
        {
            let mut taken = stream.capture();
            match &*taken {
                Some(other) if !std::ptr::addr_eq(Arc::as_ptr(other), Arc::as_ptr(&self.capture)) => {
                    other.invalidate();
                    self.capture.invalidate();
                    return Err(CUresult::STREAM_CAPTURE_MERGE);
                }
                Some(_) => {}
                None => *taken = Some(self.capture.clone()),
            }
        }
        let mut state = self.capture.state();
        let frontier = state.frontiers.entry(stream.handle).or_default();
        for node in &self.nodes {
            if !frontier.iter().any(|known| known.handle == node.handle) {
                frontier.push(node.clone());
            }
        }
        Ok(())
    }
}

fn capturable(stream: CUstream) -> Answer<Arc<Stream>> {
    target(stream)?.stream.ok_or(CUresult::STREAM_CAPTURE_UNSUPPORTED)
}

pub fn cuStreamBeginCapture_v2(stream: CUstream, mode: u32) -> Answer {
    begin(stream, mode, None, Vec::new())
}

pub fn cuStreamBeginCaptureToGraph(
    stream: CUstream,
    graph: CUgraph,
    after: In<CUgraphNode>,
    data: *const std::ffi::c_void,
    count: usize,
    mode: u32,
) -> Answer {
    super::edges::plain(data, count)?;
    let found = GRAPHS.get(graph)?;
    let after = after.array(count)?.into_iter().map(|node| NODES.get(node));
    let after = after.collect::<Answer<Vec<_>>>()?;
    if after.iter().any(|node| node.graph != graph) {
        return Err(CUresult::INVALID_VALUE);
    }
    begin(stream, mode, Some((graph, found)), after)
}

pub fn cuStreamBeginCapture(stream: CUstream) -> Answer {
    begin(stream, 0, None, Vec::new())
}

fn begin(stream: CUstream, mode: u32, into: Option<(CUgraph, Arc<Graph>)>, after: Vec<Arc<Node>>) -> Answer {
    let mode = CUstreamCaptureMode::try_from(mode)?;
    let stream = capturable(stream)?;
    let mut taken = stream.capture();
    if taken.is_some() {
        return Err(CUresult::ILLEGAL_STATE);
    }
    let given = into.is_some();
    let (graph_handle, graph) = into.unwrap_or_else(|| {
        let graph = Arc::new(Graph::default());
        (GRAPHS.insert(graph.clone()), graph)
    });
    let before = graph.nodes().iter().map(|node| node.handle).collect();
    CAPTURES.fetch_add(1, Ordering::Relaxed);
    *taken = Some(Arc::new(GraphCapture {
        id: new_handle() as u64,
        before,
        given,
        graph,
        graph_handle,
        origin: stream.handle,
        thread: (mode != CUstreamCaptureMode::RELAXED).then(|| std::thread::current().id()),
        state: Mutex::new(State {
            status: Status::Active,
            frontiers: HashMap::from([(stream.handle, after)]),
            shown: Default::default(),
        }),
    }));
    Ok(())
}

pub fn cuStreamEndCapture(stream: CUstream, graph: Out<CUgraph>) -> Answer {
    graph.required()?;
    let target = target(stream)?;
    let stream = target.stream.as_ref().ok_or(CUresult::STREAM_CAPTURE_UNSUPPORTED)?;
    let capture = GraphCapture::of(&target).ok_or(CUresult::ILLEGAL_STATE)?;
    if capture.origin != stream.handle {
        capture.invalidate();
        return Err(CUresult::STREAM_CAPTURE_UNMATCHED);
    }
    if capture.thread.is_some_and(|thread| thread != std::thread::current().id()) {
        return Err(CUresult::STREAM_CAPTURE_WRONG_THREAD);
    }
    let (status, participants) = {
        let mut state = capture.state();
        let status = match state.status {
            Status::Active if capture.is_joined(&state) => Ok(()),
            Status::Active => Err(CUresult::STREAM_CAPTURE_UNJOINED),
            _ => Err(CUresult::STREAM_CAPTURE_INVALIDATED),
        };
        state.status = Status::Ended;
        (status, std::mem::take(&mut state.frontiers))
    };
    for handle in participants.into_keys() {
        if let Ok(stream) = STREAMS.get(handle) {
            *stream.capture() = None;
        }
    }
    CAPTURES.fetch_sub(1, Ordering::Relaxed);
    match status {
        Ok(()) => graph.set(capture.graph_handle),
        Err(code) => {
            graph.set(0)?;
            if !capture.given {
                super::destroy(capture.graph_handle)?;
            }
            Err(code)
        }
    }
}

pub fn cuStreamIsCapturing(stream: CUstream, status: Out<u32>) -> Answer {
    status.required()?;
    let target = target(stream)?;
    target.refuse_if_it_waits_for_a_capture()?;
    status.set(status_of(GraphCapture::of(&target).as_deref()))
}

fn status_of(capture: Option<&GraphCapture>) -> u32 {
    (match capture {
        None => CUstreamCaptureStatus::NONE,
        Some(capture) if capture.is_active() => CUstreamCaptureStatus::ACTIVE,
        Some(_) => CUstreamCaptureStatus::INVALIDATED,
    }) as u32
}

pub fn cuStreamGetCaptureInfo(stream: CUstream, status: Out<u32>, id: Out<u64>) -> Answer {
    info(stream, status, id).map(|_| ())
}

fn info(stream: CUstream, status: Out<u32>, id: Out<u64>) -> Answer<Option<(Arc<GraphCapture>, Handle)>> {
    status.required()?;
    let target = target(stream)?;
    target.refuse_if_it_waits_for_a_capture()?;
    let capture = GraphCapture::of(&target);
    status.set(status_of(capture.as_deref()))?;
    Ok(capture.filter(|capture| capture.is_active()).map(|capture| {
        id.set_if_given(capture.id);
        (capture, target.queue)
    }))
}

pub fn cuStreamGetCaptureInfo_v2(
    stream: CUstream,
    status: Out<u32>,
    id: Out<u64>,
    graph: Out<CUgraph>,
    dependencies: Out<*const CUgraphNode>,
    count: Out<usize>,
) -> Answer {
    // SAFETY: null is an allowed value.
    let nowhere = unsafe { Out::new(std::ptr::null_mut()) };
    cuStreamGetCaptureInfo_v3(stream, status, id, graph, dependencies, nowhere, count)
}

pub fn cuStreamGetCaptureInfo_v3(
    stream: CUstream,
    status: Out<u32>,
    id: Out<u64>,
    graph: Out<CUgraph>,
    dependencies: Out<*const CUgraphNode>,
    edges: Out<*const std::ffi::c_void>,
    count: Out<usize>,
) -> Answer {
    let Some((capture, queue)) = info(stream, status, id)? else { return Ok(()) };
    graph.set_if_given(capture.graph_handle);
    let mut state = capture.state();
    let nodes = state.frontiers.get(&queue).into_iter().flatten();
    let nodes: Vec<_> = nodes.map(|node| node.handle).collect();
    let data = vec![PLAIN; nodes.len()];
    state.shown = (nodes, data);
    let (nodes, data) = &state.shown;
    // Like the driver, which gives no address where there is nothing.
    let first = |address: *const std::ffi::c_void| if nodes.is_empty() { std::ptr::null() } else { address };
    dependencies.set_if_given(first(nodes.as_ptr().cast()).cast());
    edges.set_if_given(first(data.as_ptr().cast()));
    count.set_if_given(nodes.len());
    Ok(())
}

pub fn cuStreamUpdateCaptureDependencies(
    stream: CUstream,
    dependencies: Out<CUgraphNode>,
    count: usize,
    flags: u32,
) -> Answer {
    const SET: u32 = 1;
    let target = target(stream)?;
    let capture = GraphCapture::of(&target).ok_or(CUresult::ILLEGAL_STATE)?;
    if count > 0 {
        dependencies.required()?;
    }
    let nodes = (0..count)
        .map(|index| {
            // SAFETY: the caller vouches for `count` handles; they are only read.
            let place = unsafe { Out::new(dependencies.as_ptr().add(index)) };
            NODES.get(place.get()?)
        })
        .collect::<Answer<Vec<_>>>()?;
    let mut state = capture.state();
    let frontier = state.frontiers.entry(target.queue).or_default();
    if flags & SET != 0 {
        frontier.clear();
    }
    frontier.extend(nodes);
    Ok(())
}

pub fn cuThreadExchangeStreamCaptureMode(mode: Out<u32>) -> Answer {
    use std::cell::Cell;
    thread_local! {
        static MODE: Cell<CUstreamCaptureMode> = const { Cell::new(CUstreamCaptureMode::GLOBAL) };
    }
    let wanted = CUstreamCaptureMode::try_from(mode.get()?)?;
    mode.set(MODE.replace(wanted) as u32)
}
