//! Nodes of graphs beside kernels and copies: events, memory that a graph allocates, nodes of any kind through one call, and
//! those that are not there.
#![cfg(feature = "foreign")]

mod driver;

use std::ffi::c_void;
use std::ptr::null;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use driver::*;
use warpsmith_cuda::abi::{
    CUDA_MEM_ALLOC_NODE_PARAMS, CUDA_MEMSET_NODE_PARAMS, CUdeviceptr, CUgraph, CUgraphNode,
};

/// `CUgraphNodeType`
const MEMSET: u32 = 2;
const WAIT_EVENT: u32 = 6;
const RECORD_EVENT: u32 = 7;
const ALLOCATE: u32 = 10;
const FREE: u32 = 11;
const CONDITIONAL: u32 = 13;

fn read<T: Copy>(values: &[T]) -> In<T> {
    // SAFETY: the slice is there for the call, and null stands for no values.
    unsafe { In::new(if values.is_empty() { null() } else { values.as_ptr() }) }
}

fn graph() -> CUgraph {
    let mut graph = 0;
    // SAFETY: the place is valid.
    unsafe { assert_eq!(cuGraphCreate(out(&mut graph), 0), OK) };
    graph
}

fn event() -> usize {
    let mut event = 0;
    // SAFETY: the place is valid.
    unsafe { assert_eq!(cuEventCreate(out(&mut event), 0), OK) };
    event
}

fn stream() -> usize {
    const NON_BLOCKING: u32 = 1;
    let mut stream = 0;
    // SAFETY: the place is valid.
    unsafe { assert_eq!(cuStreamCreate(out(&mut stream), NON_BLOCKING), OK) };
    stream
}

fn instance(graph: CUgraph) -> usize {
    let mut executable = 0;
    // SAFETY: the place is valid.
    unsafe { assert_eq!(cuGraphInstantiateWithFlags(out(&mut executable), graph, 0), OK) };
    executable
}

fn words<const N: usize>(address: CUdeviceptr) -> [u32; N] {
    let mut values = [0u32; N];
    // SAFETY: the array has these bytes.
    unsafe { assert_eq!(cuMemcpyDtoH_v2(values.as_mut_ptr().cast(), address, 4 * N), OK) };
    values
}

fn buffer() -> CUdeviceptr {
    let mut address = 0;
    // SAFETY: the place is valid.
    unsafe {
        assert_eq!(cuMemAlloc_v2(out(&mut address), 64), OK);
        assert_eq!(cuMemsetD32_v2(address, 0, 16), OK);
    }
    address
}

fn fill(dst: CUdeviceptr, value: u32) -> CUDA_MEMSET_NODE_PARAMS {
    CUDA_MEMSET_NODE_PARAMS { dst, pitch: 0, value, elementSize: 4, width: 4, height: 1 }
}

fn memory(bytes: usize) -> CUDA_MEM_ALLOC_NODE_PARAMS {
    // SAFETY: all of it may be zero.
    let mut params: CUDA_MEM_ALLOC_NODE_PARAMS = unsafe { std::mem::zeroed() };
    // Pinned memory of a device.
    (params.poolProps.allocType, params.poolProps.location.r#type) = (1, 1);
    params.bytesize = bytes;
    params
}

/// `CUgraphNodeParams`: the kind, then a union from the sixteenth byte on.
#[repr(C, align(8))]
struct AnyNode([u8; 256]);

impl AnyNode {
    fn new<T: Copy>(kind: u32, part: T) -> Self {
        let mut bytes = [0; 256];
        bytes[..4].copy_from_slice(&kind.to_le_bytes());
        assert!(16 + size_of::<T>() <= bytes.len());
        // SAFETY: it fits, as was asserted.
        unsafe { bytes.as_mut_ptr().byte_add(16).cast::<T>().write_unaligned(part) };
        Self(bytes)
    }

    fn part<T: Copy>(&self) -> T {
        // SAFETY: `T` is what the node's kind says.
        unsafe { self.0.as_ptr().byte_add(16).cast::<T>().read_unaligned() }
    }

    /// Adds it to a graph behind other nodes.
    fn add(&mut self, graph: CUgraph, after: &[CUgraphNode]) -> Result<CUgraphNode, CUresult> {
        let mut node = 0;
        let params: *mut c_void = self.0.as_mut_ptr().cast();
        // SAFETY: the structure is whole.
        match unsafe { cuGraphAddNode(out(&mut node), graph, read(after), after.len(), params) } {
            OK => Ok(node),
            error => Err(error),
        }
    }
}

/// Holds up its stream until the flag that it is given is set.
unsafe extern "C" fn hold(open: *mut c_void) {
    // SAFETY: the flag of the test below, which outlives the stream's work.
    let open = unsafe { &*open.cast::<AtomicBool>() };
    while !open.load(Ordering::Acquire) {
        std::thread::yield_now();
    }
}

#[test]
fn a_graph_allocates_fills_copies_and_frees() {
    own_context();
    let (graph, result) = (graph(), buffer());
    let mut params = memory(64);
    let (mut allocate, mut set, mut free) = (0, 0, 0);
    // SAFETY: the places are valid.
    unsafe {
        assert_eq!(cuGraphAddMemAllocNode(out(&mut allocate), graph, read(&[]), 0, out(&mut params)), OK);
        assert_ne!(params.dptr, 0);
        let fill = [fill(params.dptr, 7)];
        assert_eq!(cuGraphAddMemsetNode(out(&mut set), graph, read(&[allocate]), 1, read(&fill), 0), OK);
        assert_eq!(cuGraphAddMemFreeNode(out(&mut free), graph, read(&[set]), 1, params.dptr), OK);
        let mut freed = 0;
        assert_eq!(cuGraphMemFreeNodeGetParams(free, out(&mut freed)), OK);
        assert_eq!(freed, params.dptr);
        // What a program allocated itself is no graph's to free.
        let mut node = 0;
        let refused = cuGraphAddMemFreeNode(out(&mut node), graph, read(&[]), 0, result);
        assert_eq!(refused, CUresult::INVALID_VALUE);
    }
    let executable = instance(graph);
    for _ in 0..2 {
        // SAFETY: the graph is there.
        unsafe {
            assert_eq!(cuGraphLaunch(executable, 0), OK);
            assert_eq!(cuStreamSynchronize(0), OK);
        }
        assert_eq!(words::<4>(params.dptr), [7; 4], "the memory stays as long as the graph");
    }
    // SAFETY: nothing runs any more.
    unsafe {
        assert_eq!(cuGraphExecDestroy(executable), OK);
        assert_eq!(cuGraphDestroy(graph), OK);
        let mut value = 0u32;
        assert_ne!(cuMemcpyDtoH_v2((&raw mut value).cast(), params.dptr, 4), OK, "it went with the graph");
    }
}

#[test]
fn a_graph_waits_for_an_event_and_records_one() {
    own_context();
    let (graph, place) = (graph(), buffer());
    let (first, last) = (event(), event());
    let (earlier, later) = (stream(), stream());
    let (mut wait, mut set, mut record) = (0, 0, 0);
    let open = AtomicBool::new(false);
    // SAFETY: places and events are valid, and the flag outlives what waits for it.
    unsafe {
        assert_eq!(cuGraphAddEventWaitNode(out(&mut wait), graph, read(&[]), 0, first), OK);
        let params = [fill(place, 5)];
        assert_eq!(cuGraphAddMemsetNode(out(&mut set), graph, read(&[wait]), 1, read(&params), 0), OK);
        assert_eq!(cuGraphAddEventRecordNode(out(&mut record), graph, read(&[set]), 1, last), OK);
        let mut found = 0;
        assert_eq!(cuGraphEventRecordNodeGetEvent(record, out(&mut found)), OK);
        assert_eq!(found, last);

        // The event is reached once the flag is set, and only then a 3 is written where the graph writes a 5.
        assert_eq!(cuLaunchHostFunc(earlier, Some(hold), (&raw const open).cast_mut().cast()), OK);
        assert_eq!(cuMemsetD32Async(place, 3, 4, earlier), OK);
        assert_eq!(cuEventRecord(first, earlier), OK);
        assert_eq!(cuGraphLaunch(instance(graph), later), OK);
        assert_eq!(cuEventQuery(last), CUresult::NOT_READY);
        open.store(true, Ordering::Release);
        assert_eq!(cuEventSynchronize(last), OK);
    }
    assert_eq!(words::<4>(place), [5; 4]);
}

#[test]
fn nodes_of_any_kind_come_through_one_call() {
    own_context();
    let (graph, event) = (graph(), event());
    let mut allocate = AnyNode::new(ALLOCATE, memory(256));
    let first = allocate.add(graph, &[]).unwrap();
    let address = allocate.part::<CUDA_MEM_ALLOC_NODE_PARAMS>().dptr;
    assert_ne!(address, 0, "the call tells where the memory lies");
    let mut set = AnyNode::new(MEMSET, fill(address, 9));
    let second = set.add(graph, &[first]).unwrap();
    let third = AnyNode::new(RECORD_EVENT, event).add(graph, &[second]).unwrap();
    AnyNode::new(WAIT_EVENT, event).add(graph, &[third]).unwrap();
    AnyNode::new(FREE, address).add(graph, &[third]).unwrap();
    let kinds = [(first, ALLOCATE), (second, MEMSET), (third, RECORD_EVENT)];
    for (node, kind) in kinds {
        let mut found = 0;
        let mut params = AnyNode::new(0, 0u8);
        // SAFETY: the places are valid.
        unsafe {
            assert_eq!(cuGraphNodeGetType(node, out(&mut found)), OK);
            assert_eq!(cuGraphNodeGetParams(node, params.0.as_mut_ptr().cast()), OK);
        }
        assert_eq!((found, params.0[0]), (kind, kind as u8));
    }
    // SAFETY: the graph is there.
    unsafe {
        assert_eq!(cuGraphLaunch(instance(graph), 0), OK);
        assert_eq!(cuCtxSynchronize(), OK);
        assert_eq!(cuEventQuery(event), OK);
    }
    assert_eq!(words::<4>(address), [9; 4]);
}

fn empty(graph: CUgraph, after: &[CUgraphNode]) -> CUgraphNode {
    let mut node = 0;
    // SAFETY: the place is valid.
    unsafe { assert_eq!(cuGraphAddEmptyNode(out(&mut node), graph, read(after), after.len()), OK) };
    node
}

/// A node with a copy of a graph, and that copy.
fn child_in(graph: CUgraph, child: CUgraph) -> (CUgraphNode, CUgraph) {
    let (mut node, mut copy) = (0, 0);
    // SAFETY: the places are valid.
    unsafe {
        assert_eq!(cuGraphAddChildGraphNode(out(&mut node), graph, read(&[]), 0, child), OK);
        assert_eq!(cuGraphChildGraphNodeGetGraph(node, out(&mut copy)), OK);
    }
    (node, copy)
}

fn clone_of(graph: CUgraph) -> CUgraph {
    let mut clone = 0;
    // SAFETY: the place is valid.
    unsafe { assert_eq!(cuGraphClone(out(&mut clone), graph), OK) };
    clone
}

fn found(original: CUgraphNode, clone: CUgraph) -> Result<CUgraphNode, CUresult> {
    let mut node = 0;
    // SAFETY: the place is valid.
    match unsafe { cuGraphNodeFindInClone(out(&mut node), original, clone) } {
        OK => Ok(node),
        code => Err(code),
    }
}

fn count(graph: CUgraph) -> usize {
    let mut count = 0;
    // SAFETY: null asks for the count.
    unsafe { assert_eq!(cuGraphGetNodes(graph, nowhere(), out(&mut count)), OK) };
    count
}

#[test]
fn a_drawing_shows_nodes_of_every_kind() {
    own_context();
    let (graph, event) = (graph(), event());
    let first = AnyNode::new(ALLOCATE, memory(64)).add(graph, &[]).unwrap();
    let second = AnyNode::new(MEMSET, fill(buffer(), 1)).add(graph, &[first]).unwrap();
    let third = AnyNode::new(RECORD_EVENT, event).add(graph, &[second]).unwrap();
    empty(graph, &[third]);
    child_in(graph, self::graph());
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = std::ffi::CString::new(file.path().to_str().unwrap()).unwrap();
    // SAFETY: the path ends with NUL.
    unsafe { assert_eq!(cuGraphDebugDotPrint(graph, text(&path), 0), OK) };
    let drawn = std::fs::read_to_string(file.path()).unwrap();
    for label in ["0: MEM_ALLOC", "1: MEMSET", "2: EVENT_RECORD", "3: EMPTY", "4: GRAPH", "node2 -> node3"] {
        assert!(drawn.contains(label), "{label} in {drawn}");
    }
}

/// The answers are an H200's (CUDA 13).
#[test]
fn a_clone_has_child_graphs_of_its_own() {
    const REFUSED: Result<CUgraphNode, CUresult> = Err(CUresult::INVALID_VALUE);
    own_context();
    let (innermost, inner, outer) = (graph(), graph(), graph());
    let leaf = empty(innermost, &[]);
    let (inner_node, _) = child_in(inner, innermost);
    let (outer_node, child) = child_in(outer, inner);
    assert!(found(inner_node, child).is_ok(), "a child is a clone");
    let clone = clone_of(outer);
    let twin = found(outer_node, clone).unwrap();
    assert_eq!(
        (found(leaf, clone), found(inner_node, clone), found(leaf, innermost)),
        (REFUSED, REFUSED, REFUSED)
    );
    let mut of_clone = 0;
    // SAFETY: the place is valid.
    unsafe { assert_eq!(cuGraphChildGraphNodeGetGraph(twin, out(&mut of_clone)), OK) };
    assert_ne!(of_clone, child);
    empty(child, &[]);
    assert_eq!((count(child), count(of_clone)), (2, 1));
    // SAFETY: handles are valid, and a child is its node's.
    unsafe {
        assert_eq!(cuGraphDestroy(of_clone), CUresult::INVALID_VALUE);
        assert_eq!(cuGraphDestroy(outer), OK);
        assert_eq!(cuGraphDestroy(child), CUresult::INVALID_VALUE, "it went with its parent");
    }
    assert_eq!(count(of_clone), 1);
    instance(clone);
}

#[test]
fn what_is_added_to_a_child_graph_runs_with_its_parent() {
    own_context();
    let (outer, middle, place) = (graph(), graph(), buffer());
    child_in(middle, graph());
    let (_, child) = child_in(outer, middle);
    let mut nested = 0;
    let mut nodes = [0; 1];
    // SAFETY: the places are valid.
    unsafe {
        assert_eq!(cuGraphGetNodes(child, out(&mut nodes[0]), out(&mut 1)), OK);
        assert_eq!(cuGraphChildGraphNodeGetGraph(nodes[0], out(&mut nested)), OK);
    }
    AnyNode::new(MEMSET, fill(place, 6)).add(nested, &[]).unwrap();
    // SAFETY: the graph is there.
    unsafe {
        assert_eq!(cuGraphLaunch(instance(outer), 0), OK);
        assert_eq!(cuCtxSynchronize(), OK);
    }
    assert_eq!(words::<4>(place), [6; 4]);
}

/// The answers are an H200's (CUDA 13).
#[test]
fn a_graph_that_allocates_is_neither_copied_nor_taken_apart() {
    const REFUSED: CUresult = CUresult::NOT_SUPPORTED;
    own_context();
    let graph = graph();
    let allocation = AnyNode::new(ALLOCATE, memory(64)).add(graph, &[]).unwrap();
    let behind = empty(graph, &[allocation]);
    let mut none = 0;
    // SAFETY: the places are valid.
    unsafe {
        assert_eq!(cuGraphRemoveDependencies(graph, read(&[allocation]), read(&[behind]), 1), REFUSED);
        assert_eq!(cuGraphDestroyNode(behind), REFUSED);
        assert_eq!(cuGraphDestroyNode(allocation), REFUSED);
        assert_eq!(cuGraphClone(out(&mut none), graph), REFUSED);
        assert_eq!(cuGraphAddChildGraphNode(out(&mut none), self::graph(), read(&[]), 0, graph), REFUSED);
    }
    assert_eq!(count(graph), 2);
    // Managed memory of a device is there; a node has no memory of the host.
    for (kind, location, answer) in [(2, 1, Ok(())), (2, 2, Err(REFUSED)), (1, 2, Err(REFUSED))] {
        let mut params = memory(64);
        (params.poolProps.allocType, params.poolProps.location.r#type) = (kind, location);
        let added = AnyNode::new(ALLOCATE, params).add(graph, &[]);
        assert_eq!(added.map(|_| ()), answer);
    }
}

#[test]
fn a_clone_keeps_what_its_graph_keeps() {
    static DESTROYED: AtomicU32 = AtomicU32::new(0);
    unsafe extern "C" fn destroy(_: *mut c_void) {
        DESTROYED.fetch_add(1, Ordering::SeqCst);
    }
    let destroyed = || DESTROYED.load(Ordering::SeqCst);
    own_context();
    let (graph, mut object) = (graph(), 0);
    empty(graph, &[]);
    // SAFETY: the place is valid, and the function takes nothing.
    unsafe {
        assert_eq!(cuUserObjectCreate(out(&mut object), std::ptr::null_mut(), Some(destroy), 3, 1), OK);
        assert_eq!(cuGraphRetainUserObject(graph, object, 3, 1), OK);
        let clone = clone_of(graph);
        let executable = instance(self::graph());
        assert_eq!(cuGraphDestroy(graph), OK);
        assert_eq!(
            cuGraphReleaseUserObject(clone, object, 2),
            OK,
            "it has as many references as its original"
        );
        // An update brings the references of the graph that it is from.
        let other = self::graph();
        let owner = instance(clone);
        assert_eq!(cuGraphDestroy(clone), OK);
        assert_eq!(destroyed(), 0, "the executable graph keeps it");
        empty(other, &[]);
        assert_eq!(cuGraphExecUpdate(owner, other, nowhere(), nowhere()), OK);
        assert_eq!(destroyed(), 1);
        assert_eq!(cuGraphExecDestroy(owner), OK);
        assert_eq!(cuGraphExecDestroy(executable), OK);
    }
}

/// Nothing has no address, and an edge as much data as the driver says.
#[test]
fn a_capture_tells_the_data_of_its_edges() {
    own_context();
    let (stream, place) = (stream(), buffer());
    let told = || {
        let (mut status, mut id, mut graph, mut count) = (0, 0, 0, 9);
        let (mut nodes, mut edges) = (null(), null());
        let (at, data) = (out(&mut nodes), out(&mut edges));
        // SAFETY: the places are valid.
        unsafe {
            let code = cuStreamGetCaptureInfo_v3(
                stream,
                out(&mut status),
                out(&mut id),
                out(&mut graph),
                at,
                data,
                out(&mut count),
            );
            assert_eq!(code, OK);
        }
        (nodes, edges.cast::<[u8; 8]>(), count)
    };
    // SAFETY: the stream is valid.
    unsafe { assert_eq!(cuStreamBeginCapture_v2(stream, 2), OK) };
    assert_eq!(told(), (null(), null(), 0));
    // SAFETY: the memory is there; what was told is valid until the next call.
    unsafe {
        assert_eq!(cuMemsetD32Async(place, 3, 4, stream), OK);
        let (nodes, edges, count) = told();
        assert_eq!((count, edges.read()), (1, [0; 8]));
        assert_ne!(nodes.read(), 0);
        let mut graph = 0;
        assert_eq!(cuStreamEndCapture(stream, out(&mut graph)), OK);
    }
}

/// Conditional nodes, and kinds that nobody knows.
#[test]
fn nodes_that_are_not_there_are_refused() {
    own_context();
    let graph = graph();
    assert_eq!(AnyNode::new(CONDITIONAL, 0u64).add(graph, &[]), Err(CUresult::NOT_SUPPORTED));
    assert_eq!(AnyNode::new(99, 0u64).add(graph, &[]), Err(CUresult::INVALID_VALUE));
    let (mut handle, mut nodes) = (0, 0);
    // SAFETY: the places are valid, and null asks for the count.
    unsafe {
        let made = cuGraphConditionalHandleCreate(out(&mut handle), graph, 0, 0, 0);
        assert_eq!(made, CUresult::NOT_SUPPORTED);
        assert_eq!(cuGraphGetNodes(graph, Out::new(std::ptr::null_mut()), out(&mut nodes)), OK);
    }
    assert_eq!(nodes, 0, "what was refused left nothing behind");
}
