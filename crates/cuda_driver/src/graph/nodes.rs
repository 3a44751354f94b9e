//! Nodes created one by one, and their parameters.

use std::ffi::c_void;
use std::sync::{Arc, PoisonError};

use super::{EXECUTABLES, GRAPHS, Graph, NODES, ShownParams, copy_of_child, launch_in, record_of, wait_of};
use crate::abi::{
    Answer, CUDA_HOST_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS_v1, CUDA_MEMCPY3D,
    CUDA_MEMSET_NODE_PARAMS, CUcontext, CUevent, CUgraph, CUgraphExec, CUgraphNode, CUmemorytype, CUresult,
    Handle, In, Out,
};
use crate::objects::context::current;
use crate::objects::copy_description::cuboid;
use crate::objects::device::initialised;
use crate::objects::host_call::HostFunction;
use crate::objects::launch::{KernelLaunch, Request};
use crate::objects::registry::OfContext;
use crate::objects::transfer::{Copy, Fill, Memory, Side};
use crate::objects::work::{Nothing, Work};

pub fn launch_of(params: &CUDA_KERNEL_NODE_PARAMS_v1) -> Answer<Arc<dyn Work>> {
    let request = Request {
        function: params.func,
        grid: params.gridDim,
        block: params.blockDim,
        shared: params.sharedMemBytes,
        cooperative: false,
        cluster: None,
        // SAFETY: these pointers come from the caller of an entry point, who vouches for them.
        params: unsafe { In::new(params.kernelParams.cast_const()) },
        // SAFETY: as above.
        extra: unsafe { In::new(params.extra.cast_const()) },
    };
    Ok(Arc::new(request.prepare(&*current()?)?))
}

/// A launch from CUDA 12's parameters, where a library's kernel may take the place of the function.
pub fn launch_of_v2(params: &CUDA_KERNEL_NODE_PARAMS) -> Answer<Arc<dyn Work>> {
    let mut v1 = params.v1;
    if v1.func == 0 {
        v1.func = params.kern;
    }
    launch_of(&v1)
}

pub fn copy_of(params: &CUDA_MEMCPY3D) -> Answer<Arc<dyn Work>> {
    let copy = cuboid(params)?;
    copy.check()?;
    Ok(Arc::new(copy.accessible_to(current()?.device)?))
}

pub fn fill_of(params: &CUDA_MEMSET_NODE_PARAMS) -> Answer<Arc<dyn Work>> {
    let fill = Fill {
        address: params.dst,
        pitch: params.pitch,
        value: params.value.to_le_bytes(),
        element: params.elementSize as usize,
        width: params.width,
        height: params.height,
    };
    fill.check(current()?.device)?;
    Ok(Arc::new(fill))
}

pub fn call_of(params: &CUDA_HOST_NODE_PARAMS) -> Answer<Arc<dyn Work>> {
    let function = params.r#fn.ok_or(CUresult::INVALID_VALUE)?;
    Ok(Arc::new(HostFunction { function, data: params.userData as usize }))
}

pub fn cuGraphCreate(graph: Out<CUgraph>, flags: u32) -> Answer {
    initialised()?;
    graph.required()?;
    if flags != 0 {
        return Err(CUresult::INVALID_VALUE);
    }
    graph.set(GRAPHS.insert(Graph::default()))
}

pub fn cuGraphDestroy(graph: CUgraph) -> Answer {
    initialised()?;
    // A child graph is its node's to destroy.
    if GRAPHS.get(graph)?.parent.is_some() { Err(CUresult::INVALID_VALUE) } else { destroy(graph) }
}

/// Takes a graph from the program, with its nodes and their child graphs.
pub fn destroy(graph: CUgraph) -> Answer {
    let nodes = std::mem::take(&mut *GRAPHS.remove(graph)?.nodes());
    NODES.remove_where(|node| node.graph == graph);
    nodes.iter().filter_map(|node| node.child).try_for_each(destroy)
}

pub fn cuGraphNodeFindInClone(place: Out<CUgraphNode>, original: CUgraphNode, clone: CUgraph) -> Answer {
    place.required()?;
    let nodes = GRAPHS.get(clone)?.nodes().clone();
    let twin = nodes.iter().find(|node| node.original == Some(original)).ok_or(CUresult::INVALID_VALUE)?;
    place.set(twin.handle)
}

pub fn id_of(handle: Handle) -> u32 {
    (handle / 16) as u32
}

pub fn cuGraphGetId(graph: CUgraph, id: Out<u32>) -> Answer {
    id.required()?;
    GRAPHS.get(graph)?;
    id.set(id_of(graph))
}

pub fn cuGraphNodeGetLocalId(node: CUgraphNode, id: Out<u32>) -> Answer {
    id.required()?;
    NODES.get(node)?;
    id.set(id_of(node))
}

pub fn cuGraphNodeGetToolsId(node: CUgraphNode, id: Out<u64>) -> Answer {
    id.required()?;
    NODES.get(node)?;
    id.set(node as u64)
}

pub fn cuGraphNodeGetContainingGraph(node: CUgraphNode, graph: Out<CUgraph>) -> Answer {
    graph.required()?;
    graph.set(NODES.get(node)?.graph)
}

pub fn cuGraphClone(place: Out<CUgraph>, original: CUgraph) -> Answer {
    place.required()?;
    place.set(GRAPHS.get(original)?.duplicate(None)?.0)
}

pub(super) fn add(
    place: Out<CUgraphNode>,
    graph: CUgraph,
    after: In<CUgraphNode>,
    count: usize,
    work: Arc<dyn Work>,
) -> Answer {
    place.required()?;
    let node = GRAPHS.get(graph)?.add(graph, work, after.array(count)?, None)?;
    place.set(node.handle)
}

/// For each kind of node: adding one, and changing its parameters, or those of its step in an executable graph.
macro_rules! node_kinds {
    ($(
        ($arg:ident: $type:ty $(, $context:ident)?) => $work:expr; $add:ident, $set:ident, $set_step:ident;
    )*) => {$(
        pub fn $add(
            place: Out<CUgraphNode>,
            graph: CUgraph,
            after: In<CUgraphNode>,
            count: usize,
            $arg: $type
            $(, $context: CUcontext)?
        ) -> Answer {
            add(place, graph, after, count, $work)
        }

        pub fn $set(node: CUgraphNode, $arg: $type) -> Answer {
            change(node, $work)
        }

        pub fn $set_step(
            exec: CUgraphExec,
            node: CUgraphNode,
            $arg: $type
            $(, $context: CUcontext)?
        ) -> Answer {
            NODES.get(node)?;
            EXECUTABLES.get(exec)?.change(node, $work)
        }
    )*};
}

node_kinds! {
    (params: In<CUDA_KERNEL_NODE_PARAMS_v1>) => launch_of(&params.get()?)?;
        cuGraphAddKernelNode, cuGraphKernelNodeSetParams, cuGraphExecKernelNodeSetParams;
    (params: In<CUDA_KERNEL_NODE_PARAMS>) => launch_of_v2(&params.get()?)?;
        cuGraphAddKernelNode_v2, cuGraphKernelNodeSetParams_v2, cuGraphExecKernelNodeSetParams_v2;
    (params: In<CUDA_MEMCPY3D>, _context) => copy_of(&params.get()?)?;
        cuGraphAddMemcpyNode, cuGraphMemcpyNodeSetParams, cuGraphExecMemcpyNodeSetParams;
    (params: In<CUDA_MEMSET_NODE_PARAMS>, _context) => fill_of(&params.get()?)?;
        cuGraphAddMemsetNode, cuGraphMemsetNodeSetParams, cuGraphExecMemsetNodeSetParams;
    (params: In<CUDA_HOST_NODE_PARAMS>) => call_of(&params.get()?)?;
        cuGraphAddHostNode, cuGraphHostNodeSetParams, cuGraphExecHostNodeSetParams;
    (event: CUevent) => record_of(event)?;
        cuGraphAddEventRecordNode, cuGraphEventRecordNodeSetEvent, cuGraphExecEventRecordNodeSetEvent;
    (event: CUevent) => wait_of(event)?;
        cuGraphAddEventWaitNode, cuGraphEventWaitNodeSetEvent, cuGraphExecEventWaitNodeSetEvent;
}

pub fn cuGraphAddEmptyNode(
    place: Out<CUgraphNode>,
    graph: CUgraph,
    after: In<CUgraphNode>,
    count: usize,
) -> Answer {
    add(place, graph, after, count, Arc::new(Nothing))
}

pub fn cuGraphAddChildGraphNode(
    place: Out<CUgraphNode>,
    graph: CUgraph,
    after: In<CUgraphNode>,
    count: usize,
    child: CUgraph,
) -> Answer {
    place.required()?;
    if child == graph {
        return Err(CUresult::INVALID_VALUE);
    }
    // The child is copied: later changes to it do not affect this graph.
    let (parent, after) = (GRAPHS.get(graph)?, after.array(count)?);
    let copy = copy_of_child(child, graph)?;
    // The child counts as it is when the whole is instantiated; until then the node needs no work.
    let node = parent.add(graph, Arc::new(Nothing), after, Some(copy));
    place.set(node.or_else(|code| destroy(copy).and(Err(code)))?.handle)
}

pub fn cuGraphChildGraphNodeGetGraph(node: CUgraphNode, graph: Out<CUgraph>) -> Answer {
    graph.required()?;
    graph.set(NODES.get(node)?.child.ok_or(CUresult::INVALID_VALUE)?)
}

/// The parameters of a launch, with pointers to the node's own copy.
fn shown(node: CUgraphNode) -> Answer<(CUDA_KERNEL_NODE_PARAMS_v1, KernelLaunch)> {
    let node = NODES.get(node)?;
    let launch = launch_in(&node.work())?.clone();
    let block = launch.params.clone().into_boxed_slice();
    let offsets =
        launch.kernel().params().iter().map(|param| block.as_ptr() as usize + param.offset as usize);
    let params = ShownParams { pointers: offsets.collect(), _block: block };
    let kernel_params = params.pointers.as_ptr().cast_mut().cast::<*mut c_void>();
    node.shown.lock().unwrap_or_else(PoisonError::into_inner).push(params);
    let v1 = CUDA_KERNEL_NODE_PARAMS_v1 {
        func: launch.handle,
        gridDim: launch.launch.grid,
        blockDim: launch.launch.block,
        sharedMemBytes: launch.launch.dynamic_shared,
        kernelParams: kernel_params,
        extra: std::ptr::null_mut(),
    };
    Ok((v1, launch))
}

pub fn cuGraphKernelNodeGetParams(node: CUgraphNode, params: Out<CUDA_KERNEL_NODE_PARAMS_v1>) -> Answer {
    params.required()?;
    params.set(shown(node)?.0)
}

pub fn cuGraphKernelNodeGetParams_v2(node: CUgraphNode, params: Out<CUDA_KERNEL_NODE_PARAMS>) -> Answer {
    params.required()?;
    let (v1, launch) = shown(node)?;
    params.set(CUDA_KERNEL_NODE_PARAMS { v1, kern: 0, ctx: launch.function.context() })
}

/// The replacement for a node's work: of the same kind, and a kernel keeps its attributes.
pub(super) fn in_place_of(old: &Arc<dyn Work>, new: Arc<dyn Work>) -> Answer<Arc<dyn Work>> {
    if old.kind() != new.kind() {
        return Err(CUresult::INVALID_VALUE);
    }
    match (launch_in(old), launch_in(&new)) {
        (Ok(old), Ok(launch)) => Ok(Arc::new(launch.with_attributes_of(old))),
        _ => Ok(new),
    }
}

pub(super) fn change(node: CUgraphNode, new: Arc<dyn Work>) -> Answer {
    let node = NODES.get(node)?;
    let mut work = node.work();
    *work = in_place_of(&work, new)?;
    Ok(())
}

pub fn cuGraphMemcpyNodeGetParams(node: CUgraphNode, params: Out<CUDA_MEMCPY3D>) -> Answer {
    params.required()?;
    let work = NODES.get(node)?.work().clone();
    let copy = work.as_kind::<Copy>().ok_or(CUresult::INVALID_VALUE)?;
    let parts = |memory: &Memory| match memory {
        Memory::Host(address) => (CUmemorytype::HOST, *address as *mut c_void, 0),
        Memory::Pinned { address, .. } => (CUmemorytype::HOST, *address as *mut c_void, 0),
        Memory::Device(address) => (CUmemorytype::DEVICE, std::ptr::null_mut(), *address),
        Memory::Staged(bytes) => (CUmemorytype::HOST, bytes.as_ptr().cast_mut().cast(), 0),
    };
    let (from_kind, from_host, from_device) = parts(&copy.from.memory);
    let (to_kind, to_host, to_device) = parts(&copy.to.memory);
    let height = |side: &Side| side.slice.checked_div(side.pitch).unwrap_or(0);
    params.set(CUDA_MEMCPY3D {
        srcXInBytes: 0,
        srcY: 0,
        srcZ: 0,
        srcLOD: 0,
        srcMemoryType: from_kind as u32,
        srcHost: from_host.cast_const(),
        srcDevice: from_device,
        srcArray: 0,
        reserved0: std::ptr::null_mut(),
        srcPitch: copy.from.pitch,
        srcHeight: height(&copy.from),
        dstXInBytes: 0,
        dstY: 0,
        dstZ: 0,
        dstLOD: 0,
        dstMemoryType: to_kind as u32,
        dstHost: to_host,
        dstDevice: to_device,
        dstArray: 0,
        reserved1: std::ptr::null_mut(),
        dstPitch: copy.to.pitch,
        dstHeight: height(&copy.to),
        WidthInBytes: copy.extent[0],
        Height: copy.extent[1],
        Depth: copy.extent[2],
    })
}

pub fn cuGraphMemsetNodeGetParams(node: CUgraphNode, params: Out<CUDA_MEMSET_NODE_PARAMS>) -> Answer {
    params.required()?;
    let work = NODES.get(node)?.work().clone();
    let fill = work.as_kind::<Fill>().ok_or(CUresult::INVALID_VALUE)?;
    params.set(CUDA_MEMSET_NODE_PARAMS {
        dst: fill.address,
        pitch: fill.pitch,
        value: u32::from_le_bytes(fill.value),
        elementSize: fill.element as u32,
        width: fill.width,
        height: fill.height,
    })
}

pub fn cuGraphHostNodeGetParams(node: CUgraphNode, params: Out<CUDA_HOST_NODE_PARAMS>) -> Answer {
    params.required()?;
    let work = NODES.get(node)?.work().clone();
    let &HostFunction { function, data } = work.as_kind().ok_or(CUresult::INVALID_VALUE)?;
    params.set(CUDA_HOST_NODE_PARAMS { r#fn: Some(function), userData: data as *mut c_void })
}
