//! Nodes of any kind through one structure, the interface of CUDA 12.2.

use super::edges::plain;
use super::*;
use crate::abi::{
    CUDA_HOST_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS, CUDA_MEM_ALLOC_NODE_PARAMS, CUDA_MEMCPY3D,
    CUDA_MEMSET_NODE_PARAMS, CUgraphExec, CUgraphNodeType as Kind, In, Out,
};
use crate::objects::call::unsupported;
use crate::objects::work::Nothing;

/// `CUgraphNodeParams`: the kind, then a union of 232 bytes, then eight reserved bytes.
const BYTES: usize = 256;
const UNION_AT: usize = 16;
/// In front of a copy's description: flags and a context.
const COPY_AT: usize = UNION_AT + 16;

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

    fn kind(self) -> Answer<Kind> {
        self.read::<u32>(0)?.try_into()
    }

    /// The described work, except a child graph's.
    fn work(self, symbol: &'static str) -> Answer<Arc<dyn Work>> {
        match self.kind()? {
            Kind::KERNEL => launch_of_v2(&self.read::<CUDA_KERNEL_NODE_PARAMS>(UNION_AT)?),
            Kind::MEMCPY => copy_of(&self.read::<CUDA_MEMCPY3D>(COPY_AT)?),
            Kind::MEMSET => fill_of(&self.read::<CUDA_MEMSET_NODE_PARAMS>(UNION_AT)?),
            Kind::HOST => call_of(&self.read::<CUDA_HOST_NODE_PARAMS>(UNION_AT)?),
            Kind::GRAPH => Ok(Arc::new(Executable::new(&*GRAPHS.get(self.read(UNION_AT)?)?)?)),
            Kind::EMPTY => Ok(Arc::new(Nothing)),
            Kind::WAIT_EVENT => wait_of(self.read(UNION_AT)?),
            Kind::EVENT_RECORD => record_of(self.read(UNION_AT)?),
            Kind::MEM_ALLOC => {
                let mut params = self.read::<CUDA_MEM_ALLOC_NODE_PARAMS>(UNION_AT)?;
                let memory = allocation_of(params)?;
                params.dptr = memory.address;
                self.write(UNION_AT, params)?;
                Ok(memory)
            }
            Kind::MEM_FREE => free_of(self.read(UNION_AT)?),
            Kind::EXT_SEMAS_SIGNAL | Kind::EXT_SEMAS_WAIT | Kind::BATCH_MEM_OP | Kind::CONDITIONAL => {
                unsupported(symbol)
            }
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
    if params.kind()? == Kind::GRAPH {
        return cuGraphAddChildGraphNode(place, graph, after, count, params.read(UNION_AT)?);
    }
    add(place, graph, after, count, params.work("cuGraphAddNode for a node of this kind")?)
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

/// Only these kinds accept other parameters.
fn changeable(params: Params) -> Answer<Arc<dyn Work>> {
    match params.kind()? {
        Kind::MEM_ALLOC | Kind::MEM_FREE | Kind::EMPTY => Err(CUresult::INVALID_VALUE),
        _ => params.work("cuGraphNodeSetParams for a node of this kind"),
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
    params.write(0, kind as u32)?;
    // SAFETY: the union is in the structure that the caller vouches for, and contains each of these.
    unsafe {
        let at = |offset: usize| params.0.byte_add(offset);
        match kind {
            Kind::KERNEL => cuGraphKernelNodeGetParams_v2(node, Out::new(at(UNION_AT).cast())),
            Kind::MEMCPY => cuGraphMemcpyNodeGetParams(node, Out::new(at(COPY_AT).cast())),
            Kind::MEMSET => cuGraphMemsetNodeGetParams(node, Out::new(at(UNION_AT).cast())),
            Kind::HOST => cuGraphHostNodeGetParams(node, Out::new(at(UNION_AT).cast())),
            Kind::GRAPH => cuGraphChildGraphNodeGetGraph(node, Out::new(at(UNION_AT).cast())),
            Kind::WAIT_EVENT => cuGraphEventWaitNodeGetEvent(node, Out::new(at(UNION_AT).cast())),
            Kind::EVENT_RECORD => cuGraphEventRecordNodeGetEvent(node, Out::new(at(UNION_AT).cast())),
            Kind::MEM_ALLOC => cuGraphMemAllocNodeGetParams(node, Out::new(at(UNION_AT).cast())),
            Kind::MEM_FREE => cuGraphMemFreeNodeGetParams(node, Out::new(at(UNION_AT).cast())),
            _ => Ok(()),
        }
    }
}
