//! Stream capture: work goes into a graph instead of running.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

use super::{GRAPHS, Graph, Node};
use crate::abi::{Answer, CUgraph, CUgraphNode, CUresult, CUstream, Handle, In, Out};
use crate::device::event::Event;
use crate::device::registry::new_handle;
use crate::device::stream::{STREAMS, Stream, Target, target};
use crate::device::work::Op;

const RELAXED: u32 = 2;

/// A capture under way.
pub struct Capture {
    id: u64,
    graph: Arc<Graph>,
    graph_handle: CUgraph,
    /// Nodes that the graph had before.
    before: Vec<CUgraphNode>,
    /// Whether the graph was the program's already.
    given: bool,
    origin: CUstream,
    /// The thread that must end the capture; any may end a relaxed one.
    thread: Option<ThreadId>,
    state: Mutex<State>,
}

struct State {
    status: Status,
    /// The latest nodes of each stream that takes part.
    frontiers: HashMap<Handle, Vec<Arc<Node>>>,
    /// Handed out by `cuStreamGetCaptureInfo`, valid until the next call on the stream.
    shown: Vec<CUgraphNode>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Status {
    Active,
    Invalid,
    Ended,
}

/// Captures under way in the process: none is the common case, and costs nothing then.
static ACTIVE: AtomicUsize = AtomicUsize::new(0);

impl Capture {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nodes can still be added.
    pub fn is_active(&self) -> bool {
        self.state().status == Status::Active
    }

    /// Makes the capture fail when it is ended: something was done that cannot be captured.
    pub fn invalidate(&self) {
        let mut state = self.state();
        if state.status == Status::Active {
            state.status = Status::Invalid;
        }
    }

    /// Adds work behind what the stream has captured so far.
    pub fn add(&self, target: &Target, op: Op) -> Answer {
        let mut state = self.state();
        if state.status != Status::Active {
            return Err(CUresult::STREAM_CAPTURE_INVALIDATED);
        }
        let frontier = state.frontiers.entry(target.queue).or_default();
        let after = frontier.iter().map(|node| node.handle).collect();
        let node = self.graph.add(self.graph_handle, op, after, None)?;
        *frontier = vec![node];
        Ok(())
    }

    /// The latest nodes of a stream.
    pub fn frontier(&self, target: &Target) -> Vec<Arc<Node>> {
        self.state().frontiers.get(&target.queue).cloned().unwrap_or_default()
    }

    /// Makes a stream wait for a captured event, which brings the stream into the capture.
    pub fn join(self: &Arc<Self>, target: &Target, event: &Event) -> Answer {
        let stream = target.stream.as_ref().ok_or(CUresult::STREAM_CAPTURE_IMPLICIT)?;
        {
            let mut taken = stream.capture.lock().unwrap_or_else(PoisonError::into_inner);
            match &*taken {
                Some(other) if other.id != self.id => {
                    other.invalidate();
                    self.invalidate();
                    return Err(CUresult::STREAM_CAPTURE_MERGE);
                }
                Some(_) => {}
                None => *taken = Some(self.clone()),
            }
        }
        let mut state = self.state();
        let frontier = state.frontiers.entry(stream.handle).or_default();
        for node in event.captured_nodes() {
            if !frontier.iter().any(|known| known.handle == node.handle) {
                frontier.push(node);
            }
        }
        Ok(())
    }

    /// Whether all that was captured leads to what the origin stream would do next.
    fn is_joined(&self, state: &State) -> bool {
        let nodes = self.graph.nodes();
        let last = state.frontiers.get(&self.origin);
        nodes.iter().filter(|node| !self.before.contains(&node.handle)).all(|node| {
            nodes.iter().any(|other| other.after().contains(&node.handle))
                || last.is_some_and(|last| last.iter().any(|last| last.handle == node.handle))
        })
    }
}

/// Work on the legacy default stream would wait for streams that are being captured, which do not run.
pub fn refuse_if_global_capture_forbids(target: &Target) -> Answer {
    if ACTIVE.load(Ordering::Relaxed) == 0 || target.stream.is_some() {
        return Ok(());
    }
    let mut refused = false;
    for stream in STREAMS.all() {
        if stream.context == target.context.handle
            && stream.is_blocking()
            && let Some(capture) = &*stream.capture.lock().unwrap_or_else(PoisonError::into_inner)
        {
            capture.invalidate();
            refused = true;
        }
    }
    if refused { Err(CUresult::STREAM_CAPTURE_IMPLICIT) } else { Ok(()) }
}

/// Whether any capture is under way.
pub fn any_capture() -> bool {
    ACTIVE.load(Ordering::Relaxed) != 0
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
    let after = after.array(count)?.into_iter().map(|node| super::NODES.get(node));
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
    if mode > RELAXED {
        return Err(CUresult::INVALID_VALUE);
    }
    let stream = capturable(stream)?;
    let mut taken = stream.capture.lock().unwrap_or_else(PoisonError::into_inner);
    if taken.is_some() {
        return Err(CUresult::ILLEGAL_STATE);
    }
    let given = into.is_some();
    let (graph_handle, graph) = into.unwrap_or_else(|| {
        let graph = Arc::new(Graph::default());
        (GRAPHS.insert(graph.clone()), graph)
    });
    let before = graph.nodes().iter().map(|node| node.handle).collect();
    ACTIVE.fetch_add(1, Ordering::Relaxed);
    *taken = Some(Arc::new(Capture {
        id: new_handle() as u64,
        before,
        given,
        graph,
        graph_handle,
        origin: stream.handle,
        thread: (mode != RELAXED).then(|| std::thread::current().id()),
        state: Mutex::new(State {
            status: Status::Active,
            frontiers: HashMap::from([(stream.handle, after)]),
            shown: Vec::new(),
        }),
    }));
    Ok(())
}

pub fn cuStreamEndCapture(stream: CUstream, graph: Out<CUgraph>) -> Answer {
    graph.required()?;
    let stream = capturable(stream)?;
    let capture = stream.capture.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let capture = capture.ok_or(CUresult::ILLEGAL_STATE)?;
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
            *stream.capture.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }
    ACTIVE.fetch_sub(1, Ordering::Relaxed);
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
    refuse_if_global_capture_forbids(&target)?;
    status.set(status_of(target.capture().as_deref()))
}

fn status_of(capture: Option<&Capture>) -> u32 {
    match capture {
        None => 0,
        Some(capture) if capture.is_active() => 1,
        Some(_) => 2,
    }
}

pub fn cuStreamGetCaptureInfo(stream: CUstream, status: Out<u32>, id: Out<u64>) -> Answer {
    info(stream, status, id).map(|_| ())
}

fn info(stream: CUstream, status: Out<u32>, id: Out<u64>) -> Answer<Option<(Arc<Capture>, Handle)>> {
    status.required()?;
    let target = target(stream)?;
    refuse_if_global_capture_forbids(&target)?;
    let capture = target.capture();
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
    let Some((capture, queue)) = info(stream, status, id)? else { return Ok(()) };
    graph.set_if_given(capture.graph_handle);
    let mut state = capture.state();
    state.shown = state
        .frontiers
        .get(&queue)
        .map_or(Vec::new(), |nodes| nodes.iter().map(|node| node.handle).collect());
    dependencies.set_if_given(state.shown.as_ptr());
    count.set_if_given(state.shown.len());
    Ok(())
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
    edges.set_if_given(std::ptr::null());
    cuStreamGetCaptureInfo_v2(stream, status, id, graph, dependencies, count)
}

pub fn cuStreamUpdateCaptureDependencies(
    stream: CUstream,
    dependencies: Out<CUgraphNode>,
    count: usize,
    flags: u32,
) -> Answer {
    const SET: u32 = 1;
    let target = target(stream)?;
    let capture = target.capture().ok_or(CUresult::ILLEGAL_STATE)?;
    if count > 0 {
        dependencies.required()?;
    }
    let nodes = (0..count)
        .map(|index| {
            // SAFETY: the caller vouches for `count` handles; they are only read.
            let place = unsafe { Out::new(dependencies.as_ptr().add(index)) };
            super::NODES.get(place.get()?)
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
        static MODE: Cell<u32> = const { Cell::new(0) };
    }
    let wanted = mode.get()?;
    if wanted > RELAXED {
        return Err(CUresult::INVALID_VALUE);
    }
    mode.set(MODE.replace(wanted))
}
