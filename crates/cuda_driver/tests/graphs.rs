//! Nodes of graphs beside kernels and copies: events, memory that a graph allocates, nodes of any kind through one call, and
//! those that are not there.
#![cfg(feature = "foreign")]

mod driver;

use std::ffi::c_void;
use std::ptr::null;
use std::time::Duration;

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

/// What a host function waits for before it lets its stream go on.
unsafe extern "C" fn pause(_: *mut c_void) {
    std::thread::sleep(Duration::from_millis(60));
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
    // SAFETY: places and events are valid, and `pause` reads nothing.
    unsafe {
        assert_eq!(cuGraphAddEventWaitNode(out(&mut wait), graph, read(&[]), 0, first), OK);
        let params = [fill(place, 5)];
        assert_eq!(cuGraphAddMemsetNode(out(&mut set), graph, read(&[wait]), 1, read(&params), 0), OK);
        assert_eq!(cuGraphAddEventRecordNode(out(&mut record), graph, read(&[set]), 1, last), OK);
        let mut found = 0;
        assert_eq!(cuGraphEventRecordNodeGetEvent(record, out(&mut found)), OK);
        assert_eq!(found, last);

        // The event is reached after a while, and only then a 3 is written where the graph writes a 5.
        assert_eq!(cuLaunchHostFunc(earlier, Some(pause), std::ptr::null_mut()), OK);
        assert_eq!(cuMemsetD32Async(place, 3, 4, earlier), OK);
        assert_eq!(cuEventRecord(first, earlier), OK);
        assert_eq!(cuGraphLaunch(instance(graph), later), OK);
        assert_eq!(cuEventQuery(last), CUresult::NOT_READY);
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
