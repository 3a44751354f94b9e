//! Nodes of any kind through one structure, the interface of CUDA 12.2.

use super::edges::plain;
use super::*;
use crate::abi::{
    CUDA_HOST_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS, CUDA_MEM_ALLOC_NODE_PARAMS, CUDA_MEMCPY3D,
    CUDA_MEMSET_NODE_PARAMS, CUgraphExec, In, Out,
};

/// `CUgraphNodeParams`: the kind, then a union of 232 bytes, then eight that are reserved.
const BYTES: usize = 256;
const UNION_AT: usize = 16;
/// In front of a copy's description: flags and a context.
const COPY_AT: usize = UNION_AT + 16;

/// `CUgraphNodeType`
const KERNEL: u32 = 0;
const MEMCPY: u32 = 1;
const MEMSET: u32 = 2;
const HOST: u32 = 3;
const GRAPH: u32 = 4;
const EMPTY: u32 = 5;
const WAIT_EVENT: u32 = 6;
const RECORD_EVENT: u32 = 7;
const ALLOCATE: u32 = 10;
const FREE: u32 = 11;

/// The parameters of a node, as the program wrote them.
#[derive(Clone, Copy)]
struct Params(*mut std::ffi::c_void);

impl Params {
    fn of(params: *mut std::ffi::c_void) -> Answer<Self> {
        if params.is_null() { Err(CUresult::INVALID_VALUE) } else { Ok(Self(params)) }
    }

    /// One of the union's structures, each of which fits.
    fn read<T: Copy>(self, at: usize) -> Answer<T> {
        debug_assert!(at + size_of::<T>() <= BYTES);
        // SAFETY: not null, so the caller of the entry point vouches for the whole structure.
        unsafe { In::<T>::new(self.0.cast_const().byte_add(at).cast()) }.get()
    }

    fn write<T>(self, at: usize, value: T) -> Answer {
        debug_assert!(at + size_of::<T>() <= BYTES);
        // SAFETY: as above.
        unsafe { Out::<T>::new(self.0.byte_add(at).cast()) }.set(value)
    }

    fn kind(self) -> Answer<u32> {
        self.read(0)
    }

    /// The work that is described, but for a child graph's.
    fn op(self, symbol: &'static str) -> Answer<Op> {
        match self.kind()? {
            KERNEL => launch_of_v2(&self.read::<CUDA_KERNEL_NODE_PARAMS>(UNION_AT)?),
            MEMCPY => copy_of(&self.read::<CUDA_MEMCPY3D>(COPY_AT)?),
            MEMSET => fill_of(&self.read::<CUDA_MEMSET_NODE_PARAMS>(UNION_AT)?),
            HOST => call_of(&self.read::<CUDA_HOST_NODE_PARAMS>(UNION_AT)?),
            GRAPH => Ok(Op::Graph(Executable::new(&*GRAPHS.get(self.read(UNION_AT)?)?)?.into())),
            EMPTY => Ok(Op::Nothing),
            WAIT_EVENT => wait_of(self.read(UNION_AT)?),
            RECORD_EVENT => record_of(self.read(UNION_AT)?),
            ALLOCATE => {
                let mut params = self.read::<CUDA_MEM_ALLOC_NODE_PARAMS>(UNION_AT)?;
                let op = allocation_of(params)?;
                if let Op::Allocate(memory) = &op {
                    params.dptr = memory.address;
                    self.write(UNION_AT, params)?;
                }
                Ok(op)
            }
            FREE => free_of(self.read(UNION_AT)?),
            // Semaphores, batches of operations on memory, conditions.
            8 | 9 | 12..=15 => crate::entry::unsupported(symbol).and(Err(CUresult::NOT_SUPPORTED)),
            _ => Err(CUresult::INVALID_VALUE),
        }
    }
}

pub fn cuGraphAddNode(
    place: Out<CUgraphNode>,
    graph: CUgraph,
    after: In<CUgraphNode>,
    count: usize,
    params: *mut std::ffi::c_void,
) -> Answer {
    place.required()?;
    GRAPHS.get(graph)?;
    let params = Params::of(params)?;
    if params.kind()? == GRAPH {
        return cuGraphAddChildGraphNode(place, graph, after, count, params.read(UNION_AT)?);
    }
    add(place, graph, after, count, params.op("cuGraphAddNode for a node of this kind")?)
}

pub fn cuGraphAddNode_v2(
    place: Out<CUgraphNode>,
    graph: CUgraph,
    after: In<CUgraphNode>,
    data: *const std::ffi::c_void,
    count: usize,
    params: *mut std::ffi::c_void,
) -> Answer {
    plain(data, count)?;
    cuGraphAddNode(place, graph, after, count, params)
}

/// Only these kinds can be given other parameters.
fn changeable(params: Params) -> Answer<Op> {
    match params.kind()? {
        ALLOCATE | FREE | EMPTY => Err(CUresult::INVALID_VALUE),
        _ => params.op("cuGraphNodeSetParams for a node of this kind"),
    }
}

pub fn cuGraphNodeSetParams(node: CUgraphNode, params: *mut std::ffi::c_void) -> Answer {
    NODES.get(node)?;
    change(node, changeable(Params::of(params)?)?)
}

pub fn cuGraphExecNodeSetParams(
    exec: CUgraphExec,
    node: CUgraphNode,
    params: *mut std::ffi::c_void,
) -> Answer {
    EXECUTABLES.get(exec)?.change(node, changeable(Params::of(params)?)?)
}

pub fn cuGraphNodeGetParams(node: CUgraphNode, params: *mut std::ffi::c_void) -> Answer {
    let found = NODES.get(node)?;
    let params = Params::of(params)?;
    params.write(0, [0u64; BYTES / 8])?;
    let kind = found.kind();
    params.write(0, kind)?;
    // SAFETY: the union lies in the structure that the caller vouches for, and holds each of these.
    unsafe {
        let at = |offset: usize| params.0.byte_add(offset);
        match kind {
            KERNEL => cuGraphKernelNodeGetParams_v2(node, Out::new(at(UNION_AT).cast())),
            MEMCPY => cuGraphMemcpyNodeGetParams(node, Out::new(at(COPY_AT).cast())),
            MEMSET => cuGraphMemsetNodeGetParams(node, Out::new(at(UNION_AT).cast())),
            HOST => cuGraphHostNodeGetParams(node, Out::new(at(UNION_AT).cast())),
            GRAPH => cuGraphChildGraphNodeGetGraph(node, Out::new(at(UNION_AT).cast())),
            WAIT_EVENT => cuGraphEventWaitNodeGetEvent(node, Out::new(at(UNION_AT).cast())),
            RECORD_EVENT => cuGraphEventRecordNodeGetEvent(node, Out::new(at(UNION_AT).cast())),
            ALLOCATE => cuGraphMemAllocNodeGetParams(node, Out::new(at(UNION_AT).cast())),
            FREE => cuGraphMemFreeNodeGetParams(node, Out::new(at(UNION_AT).cast())),
            _ => Ok(()),
        }
    }
}
