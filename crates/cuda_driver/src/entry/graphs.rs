//! Graphs and stream capture.

use std::ffi::{c_char, c_void};

use crate::abi::{
    CUDA_GRAPH_INSTANTIATE_PARAMS, CUDA_HOST_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS,
    CUDA_KERNEL_NODE_PARAMS_v1, CUDA_MEM_ALLOC_NODE_PARAMS, CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS,
    CUcontext, CUdevice, CUdeviceptr, CUevent, CUgraph, CUgraphExec, CUgraphNode, CUstream, Handle, In, Out,
    Text,
};
use crate::entry::entry_points;

entry_points! {
    cuDeviceGetGraphMemAttribute @ 11040 => graph (device: CUdevice, attr: u32, value: *mut c_void);
    cuDeviceGraphMemTrim @ 11040 => tools (device: CUdevice);
    cuDeviceSetGraphMemAttribute @ 11040 => graph (device: CUdevice, attr: u32, value: *mut c_void);
    cuGraphAddBatchMemOpNode @ 11070 => unsupported (graph_node: Out<CUgraphNode>, graph: CUgraph, dependencies: In<CUgraphNode>,
        num_dependencies: usize, node_params: *const c_void);
    cuGraphAddChildGraphNode @ 10000 => graph (graph_node: Out<CUgraphNode>, graph: CUgraph, dependencies: In<CUgraphNode>,
        num_dependencies: usize, child_graph: CUgraph);
    cuGraphAddDependencies @ 10000 => graph (graph: CUgraph, from: In<CUgraphNode>, to: In<CUgraphNode>,
        num_dependencies: usize);
    cuGraphAddDependencies_v2 @ 12030 => graph (graph: CUgraph, from: In<CUgraphNode>, to: In<CUgraphNode>,
        edge_data: *const c_void, num_dependencies: usize);
    cuGraphAddEmptyNode @ 10000 => graph (graph_node: Out<CUgraphNode>, graph: CUgraph, dependencies: In<CUgraphNode>,
        num_dependencies: usize);
    cuGraphAddEventRecordNode @ 11010 => graph (graph_node: Out<CUgraphNode>, graph: CUgraph, dependencies: In<CUgraphNode>,
        num_dependencies: usize, event: CUevent);
    cuGraphAddEventWaitNode @ 11010 => graph (graph_node: Out<CUgraphNode>, graph: CUgraph, dependencies: In<CUgraphNode>,
        num_dependencies: usize, event: CUevent);
    cuGraphAddExternalSemaphoresSignalNode @ 11020 => unsupported (graph_node: Out<CUgraphNode>, graph: CUgraph,
        dependencies: In<CUgraphNode>, num_dependencies: usize, node_params: *const c_void);
    cuGraphAddExternalSemaphoresWaitNode @ 11020 => unsupported (graph_node: Out<CUgraphNode>, graph: CUgraph,
        dependencies: In<CUgraphNode>, num_dependencies: usize, node_params: *const c_void);
    cuGraphAddHostNode @ 10000 => graph (graph_node: Out<CUgraphNode>, graph: CUgraph, dependencies: In<CUgraphNode>,
        num_dependencies: usize, node_params: In<CUDA_HOST_NODE_PARAMS>);
    cuGraphAddKernelNode @ 10000 => graph (graph_node: Out<CUgraphNode>, graph: CUgraph, dependencies: In<CUgraphNode>,
        num_dependencies: usize, node_params: In<CUDA_KERNEL_NODE_PARAMS_v1>);
    cuGraphAddKernelNode_v2 @ 12000 => graph (graph_node: Out<CUgraphNode>, graph: CUgraph, dependencies: In<CUgraphNode>,
        num_dependencies: usize, node_params: In<CUDA_KERNEL_NODE_PARAMS>);
    cuGraphAddMemAllocNode @ 11040 => graph (graph_node: Out<CUgraphNode>, graph: CUgraph, dependencies: In<CUgraphNode>,
        num_dependencies: usize, node_params: Out<CUDA_MEM_ALLOC_NODE_PARAMS>);
    cuGraphAddMemFreeNode @ 11040 => graph (graph_node: Out<CUgraphNode>, graph: CUgraph, dependencies: In<CUgraphNode>,
        num_dependencies: usize, dptr: CUdeviceptr);
    cuGraphAddMemcpyNode @ 10000 => graph (graph_node: Out<CUgraphNode>, graph: CUgraph, dependencies: In<CUgraphNode>,
        num_dependencies: usize, copy_params: In<CUDA_MEMCPY3D>, ctx: CUcontext);
    cuGraphAddMemsetNode @ 10000 => graph (graph_node: Out<CUgraphNode>, graph: CUgraph, dependencies: In<CUgraphNode>,
        num_dependencies: usize, memset_params: In<CUDA_MEMSET_NODE_PARAMS>, ctx: CUcontext);
    cuGraphAddNode @ 12020 => graph (graph_node: Out<CUgraphNode>, graph: CUgraph, dependencies: In<CUgraphNode>,
        num_dependencies: usize, node_params: *mut c_void);
    cuGraphAddNode_v2 @ 12030 => graph (graph_node: Out<CUgraphNode>, graph: CUgraph, dependencies: In<CUgraphNode>,
        dependency_data: *const c_void, num_dependencies: usize, node_params: *mut c_void);
    cuGraphAddNode_v3 @ 13040 => graph (graph_node: Out<CUgraphNode>, graph: CUgraph, dependencies: In<CUgraphNode>,
        dependency_data: *const c_void, num_dependencies: usize, node_params: *mut c_void) as cuGraphAddNode_v2;
    cuGraphBatchMemOpNodeGetParams @ 11070 => unsupported (node: CUgraphNode, node_params_out: *mut c_void);
    cuGraphBatchMemOpNodeSetParams @ 11070 => unsupported (node: CUgraphNode, node_params: *const c_void);
    cuGraphChildGraphNodeGetGraph @ 10000 => graph (node: CUgraphNode, graph: Out<CUgraph>);
    cuGraphClone @ 10000 => graph (graph_clone: Out<CUgraph>, original_graph: CUgraph);
    cuGraphConditionalHandleCreate @ 12030 => unsupported (p_handle_out: Out<u64>, graph: CUgraph, ctx: CUcontext,
        default_launch_value: u32, flags: u32);
    cuGraphCreate @ 10000 => graph (graph: Out<CUgraph>, flags: u32);
    cuGraphDebugDotPrint @ 11030 => graph (graph: CUgraph, path: Text, flags: u32);
    cuGraphDestroy @ 10000 => graph (graph: CUgraph);
    cuGraphDestroyNode @ 10000 => graph (node: CUgraphNode);
    cuGraphEventRecordNodeGetEvent @ 11010 => graph (node: CUgraphNode, event_out: Out<CUevent>);
    cuGraphEventRecordNodeSetEvent @ 11010 => graph (node: CUgraphNode, event: CUevent);
    cuGraphEventWaitNodeGetEvent @ 11010 => graph (node: CUgraphNode, event_out: Out<CUevent>);
    cuGraphEventWaitNodeSetEvent @ 11010 => graph (node: CUgraphNode, event: CUevent);
    cuGraphExecBatchMemOpNodeSetParams @ 11070 => unsupported (graph_exec: CUgraphExec, node: CUgraphNode,
        node_params: *const c_void);
    cuGraphExecChildGraphNodeSetParams @ 11010 => graph (graph_exec: CUgraphExec, node: CUgraphNode, child_graph: CUgraph);
    cuGraphExecDestroy @ 10000 => graph (graph_exec: CUgraphExec);
    cuGraphExecEventRecordNodeSetEvent @ 11010 => graph (graph_exec: CUgraphExec, node: CUgraphNode, event: CUevent);
    cuGraphExecEventWaitNodeSetEvent @ 11010 => graph (graph_exec: CUgraphExec, node: CUgraphNode, event: CUevent);
    cuGraphExecExternalSemaphoresSignalNodeSetParams @ 11020 => unsupported (graph_exec: CUgraphExec, node: CUgraphNode,
        node_params: *const c_void);
    cuGraphExecExternalSemaphoresWaitNodeSetParams @ 11020 => unsupported (graph_exec: CUgraphExec, node: CUgraphNode,
        node_params: *const c_void);
    cuGraphExecGetFlags @ 12000 => graph (graph_exec: CUgraphExec, flags: Out<u64>);
    cuGraphExecGetId @ 13010 => graph (graph_exec: CUgraphExec, graph_id: Out<u32>);
    cuGraphExecHostNodeSetParams @ 10020 => graph (graph_exec: CUgraphExec, node: CUgraphNode,
        node_params: In<CUDA_HOST_NODE_PARAMS>);
    cuGraphExecKernelNodeSetParams @ 10010 => graph (graph_exec: CUgraphExec, node: CUgraphNode,
        node_params: In<CUDA_KERNEL_NODE_PARAMS_v1>);
    cuGraphExecKernelNodeSetParams_v2 @ 12000 => graph (graph_exec: CUgraphExec, node: CUgraphNode,
        node_params: In<CUDA_KERNEL_NODE_PARAMS>);
    cuGraphExecMemcpyNodeSetParams @ 10020 => graph (graph_exec: CUgraphExec, node: CUgraphNode,
        copy_params: In<CUDA_MEMCPY3D>, ctx: CUcontext);
    cuGraphExecMemsetNodeSetParams @ 10020 => graph (graph_exec: CUgraphExec, node: CUgraphNode,
        memset_params: In<CUDA_MEMSET_NODE_PARAMS>, ctx: CUcontext);
    cuGraphExecNodeSetParams @ 12020 => graph (graph_exec: CUgraphExec, node: CUgraphNode, node_params: *mut c_void);
    cuGraphExecUpdate @ 10020 => graph (graph_exec: CUgraphExec, graph: CUgraph, error_node_out: Out<CUgraphNode>,
        update_result_out: Out<u32>);
    cuGraphExecUpdate_v2 @ 12000 => graph (graph_exec: CUgraphExec, graph: CUgraph, result_info: *mut c_void);
    cuGraphExternalSemaphoresSignalNodeGetParams @ 11020 => unsupported (node: CUgraphNode, params_out: *mut c_void);
    cuGraphExternalSemaphoresSignalNodeSetParams @ 11020 => unsupported (node: CUgraphNode, node_params: *const c_void);
    cuGraphExternalSemaphoresWaitNodeGetParams @ 11020 => unsupported (node: CUgraphNode, params_out: *mut c_void);
    cuGraphExternalSemaphoresWaitNodeSetParams @ 11020 => unsupported (node: CUgraphNode, node_params: *const c_void);
    cuGraphGetEdges @ 10000 => graph (graph: CUgraph, from: Out<CUgraphNode>, to: Out<CUgraphNode>, num_edges: Out<usize>);
    cuGraphGetEdges_v2 @ 12030 => graph (graph: CUgraph, from: Out<CUgraphNode>, to: Out<CUgraphNode>,
        edge_data: *mut c_void, num_edges: Out<usize>);
    cuGraphGetId @ 13010 => graph (graph: CUgraph, graph_id: Out<u32>);
    cuGraphGetNodes @ 10000 => graph (graph: CUgraph, nodes: Out<CUgraphNode>, num_nodes: Out<usize>);
    cuGraphGetRootNodes @ 10000 => graph (graph: CUgraph, root_nodes: Out<CUgraphNode>, num_root_nodes: Out<usize>);
    cuGraphHostNodeGetParams @ 10000 => graph (node: CUgraphNode, node_params: Out<CUDA_HOST_NODE_PARAMS>);
    cuGraphHostNodeSetParams @ 10000 => graph (node: CUgraphNode, node_params: In<CUDA_HOST_NODE_PARAMS>);
    cuGraphInstantiate @ 10000 => graph (graph_exec: Out<CUgraphExec>, graph: CUgraph, error_node: Out<CUgraphNode>,
        log_buffer: Out<c_char>, buffer_size: usize) as cuGraphInstantiate_v2;
    cuGraphInstantiateWithFlags @ 11040 => graph (graph_exec: Out<CUgraphExec>, graph: CUgraph, flags: u64);
    cuGraphInstantiateWithParams @ 12000 / cuGraphInstantiateWithParams_ptsz @ 12000 => graph (graph_exec: Out<CUgraphExec>,
        graph: CUgraph, instantiate_params: Out<CUDA_GRAPH_INSTANTIATE_PARAMS>);
    cuGraphInstantiate_v2 @ 11000 => graph (graph_exec: Out<CUgraphExec>, graph: CUgraph, error_node: Out<CUgraphNode>,
        log_buffer: Out<c_char>, buffer_size: usize);
    cuGraphKernelNodeCopyAttributes @ 11000 => graph (dst: CUgraphNode, src: CUgraphNode);
    cuGraphKernelNodeGetAttribute @ 11000 => graph (node: CUgraphNode, attr: u32, value_out: *mut c_void);
    cuGraphKernelNodeGetParams @ 10000 => graph (node: CUgraphNode, node_params: Out<CUDA_KERNEL_NODE_PARAMS_v1>);
    cuGraphKernelNodeGetParams_v2 @ 12000 => graph (node: CUgraphNode, node_params: Out<CUDA_KERNEL_NODE_PARAMS>);
    cuGraphKernelNodeSetAttribute @ 11000 => graph (node: CUgraphNode, attr: u32, value: *const c_void);
    cuGraphKernelNodeSetParams @ 10000 => graph (node: CUgraphNode, node_params: In<CUDA_KERNEL_NODE_PARAMS_v1>);
    cuGraphKernelNodeSetParams_v2 @ 12000 => graph (node: CUgraphNode, node_params: In<CUDA_KERNEL_NODE_PARAMS>);
    cuGraphLaunch @ 10000 / cuGraphLaunch_ptsz @ 10000 => graph (graph_exec: CUgraphExec, stream: CUstream);
    cuGraphMemAllocNodeGetParams @ 11040 => graph (node: CUgraphNode, params_out: Out<CUDA_MEM_ALLOC_NODE_PARAMS>);
    cuGraphMemFreeNodeGetParams @ 11040 => graph (node: CUgraphNode, dptr_out: Out<CUdeviceptr>);
    cuGraphMemcpyNodeGetParams @ 10000 => graph (node: CUgraphNode, node_params: Out<CUDA_MEMCPY3D>);
    cuGraphMemcpyNodeSetParams @ 10000 => graph (node: CUgraphNode, node_params: In<CUDA_MEMCPY3D>);
    cuGraphMemsetNodeGetParams @ 10000 => graph (node: CUgraphNode, node_params: Out<CUDA_MEMSET_NODE_PARAMS>);
    cuGraphMemsetNodeSetParams @ 10000 => graph (node: CUgraphNode, node_params: In<CUDA_MEMSET_NODE_PARAMS>);
    cuGraphNodeFindInClone @ 10000 => graph (node: Out<CUgraphNode>, original_node: CUgraphNode, cloned_graph: CUgraph);
    cuGraphNodeGetContainingGraph @ 13010 => graph (node: CUgraphNode, graph: Out<CUgraph>);
    cuGraphNodeGetDependencies @ 10000 => graph (node: CUgraphNode, dependencies: Out<CUgraphNode>,
        num_dependencies: Out<usize>);
    cuGraphNodeGetDependencies_v2 @ 12030 => graph (node: CUgraphNode, dependencies: Out<CUgraphNode>,
        edge_data: *mut c_void, num_dependencies: Out<usize>);
    cuGraphNodeGetDependentNodes @ 10000 => graph (node: CUgraphNode, dependent_nodes: Out<CUgraphNode>,
        num_dependent_nodes: Out<usize>);
    cuGraphNodeGetDependentNodes_v2 @ 12030 => graph (node: CUgraphNode, dependent_nodes: Out<CUgraphNode>,
        edge_data: *mut c_void, num_dependent_nodes: Out<usize>);
    cuGraphNodeGetEnabled @ 11060 => graph (graph_exec: CUgraphExec, node: CUgraphNode, is_enabled: Out<u32>);
    cuGraphNodeGetLocalId @ 13010 => graph (node: CUgraphNode, node_id: Out<u32>);
    cuGraphNodeGetParams @ 13020 => graph (node: CUgraphNode, node_params: *mut c_void);
    cuGraphNodeGetToolsId @ 13010 => graph (node: CUgraphNode, node_id: Out<u64>);
    cuGraphNodeGetType @ 10000 => graph (node: CUgraphNode, kind: Out<u32>);
    cuGraphNodeSetEnabled @ 11060 => graph (graph_exec: CUgraphExec, node: CUgraphNode, is_enabled: u32);
    cuGraphNodeSetParams @ 12020 => graph (node: CUgraphNode, node_params: *mut c_void);
    cuGraphNodeSetParams_v2 @ 13040 => graph (node: CUgraphNode, node_params: *mut c_void) as cuGraphNodeSetParams;
    cuGraphReleaseUserObject @ 11030 => graph (graph: CUgraph, object: Handle, count: u32);
    cuGraphRemoveDependencies @ 10000 => graph (graph: CUgraph, from: In<CUgraphNode>, to: In<CUgraphNode>,
        num_dependencies: usize);
    cuGraphRemoveDependencies_v2 @ 12030 => graph (graph: CUgraph, from: In<CUgraphNode>, to: In<CUgraphNode>,
        edge_data: *const c_void, num_dependencies: usize);
    cuGraphRetainUserObject @ 11030 => graph (graph: CUgraph, object: Handle, count: u32, flags: u32);
    cuGraphUpload @ 11010 / cuGraphUpload_ptsz @ 11010 => graph (graph_exec: CUgraphExec, stream: CUstream);
    cuStreamBeginCapture @ 10000 / cuStreamBeginCapture_ptsz @ 10000 => graph (stream: CUstream);
    cuStreamBeginCaptureToGraph @ 12030 / cuStreamBeginCaptureToGraph_ptsz @ 12030 => graph (stream: CUstream,
        graph: CUgraph, dependencies: In<CUgraphNode>, dependency_data: *const c_void, num_dependencies: usize, mode: u32);
    cuStreamBeginRecaptureToGraph @ 13030 / cuStreamBeginRecaptureToGraph_ptsz @ 13030 => unsupported (stream: CUstream,
        mode: u32, graph: CUgraph, callback: *mut c_void, user_data: *mut c_void);
    cuStreamBeginCapture_v2 @ 10010 / cuStreamBeginCapture_v2_ptsz @ 10010 => graph (stream: CUstream, mode: u32);
    cuStreamEndCapture @ 10000 / cuStreamEndCapture_ptsz @ 10000 => graph (stream: CUstream, graph: Out<CUgraph>);
    cuStreamGetCaptureInfo @ 10010 / cuStreamGetCaptureInfo_ptsz @ 10010 => graph (stream: CUstream,
        capture_status_out: Out<u32>, id_out: Out<u64>);
    cuStreamGetCaptureInfo_v2 @ 11030 / cuStreamGetCaptureInfo_v2_ptsz @ 11030 => graph (stream: CUstream,
        capture_status_out: Out<u32>, id_out: Out<u64>, graph_out: Out<CUgraph>, dependencies_out: Out<*const CUgraphNode>,
        num_dependencies_out: Out<usize>);
    cuStreamGetCaptureInfo_v3 @ 12030 / cuStreamGetCaptureInfo_v3_ptsz @ 12030 => graph (stream: CUstream,
        capture_status_out: Out<u32>, id_out: Out<u64>, graph_out: Out<CUgraph>, dependencies_out: Out<*const CUgraphNode>,
        edge_data_out: Out<*const c_void>, num_dependencies_out: Out<usize>);
    cuStreamUpdateCaptureDependencies @ 11030 / cuStreamUpdateCaptureDependencies_ptsz @ 11030 => graph (stream: CUstream,
        dependencies: Out<CUgraphNode>, num_dependencies: usize, flags: u32);
    cuStreamUpdateCaptureDependencies_v2 @ 12030 / cuStreamUpdateCaptureDependencies_v2_ptsz @ 12030 => graph (stream: CUstream,
        dependencies: Out<CUgraphNode>, dependency_data: *const c_void, num_dependencies: usize, flags: u32);
    cuThreadExchangeStreamCaptureMode @ 10010 => graph (mode: Out<u32>);
}
