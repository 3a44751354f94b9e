//! Other processes, other interfaces, tools.

use std::ffi::{c_char, c_void};

use crate::abi::{
    CUcontext, CUdevice, CUdeviceptr, CUevent, CUhostFn, CUmulticastObjectProp, CUstream, CUuuid, Handle, In,
    IpcHandle, Out, Text,
};
use crate::entry::entry_points;

entry_points! {
    cuCheckpointOperationComplete @ 13040 => unsupported (handle: Handle);
    cuCheckpointProcessCheckpoint @ 12080 => unsupported (pid: i32, args: *mut c_void);
    cuCheckpointProcessGetRestoreThreadId @ 12080 => unsupported (pid: i32, tid: Out<i32>);
    cuCheckpointProcessGetState @ 12080 => unsupported (pid: i32, state: Out<u32>);
    cuCheckpointProcessLock @ 12080 => unsupported (pid: i32, args: *mut c_void);
    cuCheckpointProcessRestore @ 12080 => unsupported (pid: i32, args: *mut c_void);
    cuCheckpointProcessUnlock @ 12080 => unsupported (pid: i32, args: *mut c_void);
    cuCoredumpDeregisterCompleteCallback @ 13020 => unsupported (callback: Handle);
    cuCoredumpDeregisterStartCallback @ 13020 => unsupported (callback: Handle);
    cuCoredumpGetAttribute @ 12010 => unsupported (attrib: u32, value: *mut c_void, size: Out<usize>);
    cuCoredumpGetAttributeGlobal @ 12010 => unsupported (attrib: u32, value: *mut c_void, size: Out<usize>);
    cuCoredumpRegisterCompleteCallback @ 13020 => unsupported (callback: *mut c_void, user_data: *mut c_void,
        callback_out: Out<Handle>);
    cuCoredumpRegisterStartCallback @ 13020 => unsupported (callback: *mut c_void, user_data: *mut c_void,
        callback_out: Out<Handle>);
    cuCoredumpSetAttribute @ 12010 => unsupported (attrib: u32, value: *mut c_void, size: Out<usize>);
    cuCoredumpSetAttributeGlobal @ 12010 => unsupported (attrib: u32, value: *mut c_void, size: Out<usize>);
    cuCtxFromGreenCtx @ 12040 => unsupported (p_context: Out<CUcontext>, ctx: Handle);
    cuCtxGetDevResource @ 12040 => unsupported (ctx: CUcontext, resource: *mut c_void, kind: u32);
    cuDestroyExternalMemory @ 10000 => unsupported (ext_mem: Handle);
    cuDestroyExternalSemaphore @ 10000 => unsupported (ext_sem: Handle);
    cuDevResourceGenerateDesc @ 12040 => unsupported (desc: Out<Handle>, resources: *mut c_void, nb_resources: u32);
    cuDevSmResourceSplit @ 13010 => unsupported (result: *mut c_void, nb_groups: u32, input: *const c_void,
        remainder: *mut c_void, flags: u32, group_params: *mut c_void);
    cuDevSmResourceSplitByCount @ 12040 => unsupported (result: *mut c_void, nb_groups: Out<u32>, input: *const c_void,
        remainder: *mut c_void, flags: u32, min_count: u32);
    cuDeviceGetCliqueCount @ 13040 => unsupported (count: Out<usize>, dev: CUdevice);
    cuDeviceGetCliqueInfo @ 13040 => unsupported (clique_info: *mut c_void, count: Out<usize>, dev: CUdevice);
    cuDeviceGetDevResource @ 12040 => unsupported (device: CUdevice, resource: *mut c_void, kind: u32);
    cuDeviceGetFabricClusterUuid @ 13040 => unsupported (uuid: Out<CUuuid>, dev: CUdevice);
    cuDeviceGetNvSciSyncAttributes @ 10020 => unsupported (nv_sci_sync_attr_list: *mut c_void, dev: CUdevice, flags: i32);
    cuDeviceRegisterAsyncNotification @ 12040 => unsupported (device: CUdevice, callback_func: *mut c_void,
        user_data: *mut c_void, callback: Out<Handle>);
    cuDeviceUnregisterAsyncNotification @ 12040 => unsupported (device: CUdevice, callback: Handle);
    cuExternalMemoryGetMappedBuffer @ 10000 => unsupported (dev_ptr: Out<CUdeviceptr>, ext_mem: Handle,
        buffer_desc: *const c_void);
    cuExternalMemoryGetMappedMipmappedArray @ 10000 => unsupported (mipmap: Out<Handle>, ext_mem: Handle,
        mipmap_desc: *const c_void);
    cuFabricCpyBatchAsync @ 13050 / cuFabricCpyBatchAsync_ptsz @ 13050 => unsupported (num_ops: usize, op_list: *mut c_void,
        flags: u64, stream: CUstream);
    cuFlushGPUDirectRDMAWrites @ 11030 => tools (target: u32, scope: u32);
    cuGLGetDevices @ 4010 => unsupported (count: Out<u32>, devices: Out<CUdevice>, device_count: u32, device_list: u32);
    cuGLGetDevices_v2 @ 6050 => unsupported (count: Out<u32>, devices: Out<CUdevice>, device_count: u32, device_list: u32);
    cuGraphicsEGLRegisterImage @ 7000 => unsupported (resource: Out<Handle>, image: *mut c_void, flags: u32);
    cuGraphicsGLRegisterBuffer @ 3000 => unsupported (resource: Out<Handle>, buffer: u32, flags: u32);
    cuGraphicsGLRegisterImage @ 3000 => unsupported (resource: Out<Handle>, image: u32, target: u32, flags: u32);
    cuGraphicsMapResources @ 3000 / cuGraphicsMapResources_ptsz @ 7000 => unsupported (count: u32, resources: Out<Handle>,
        stream: CUstream);
    cuGraphicsResourceGetMappedMipmappedArray @ 5000 => unsupported (p_mipmapped_array: Out<Handle>, resource: Handle);
    cuGraphicsResourceGetMappedPointer_v2 @ 3020 => unsupported (p_dev_ptr: Out<CUdeviceptr>, p_size: Out<usize>,
        resource: Handle);
    cuGraphicsResourceSetMapFlags @ 3000 => unsupported (resource: Handle, flags: u32);
    cuGraphicsResourceSetMapFlags_v2 @ 6050 => unsupported (resource: Handle, flags: u32);
    cuGraphicsSubResourceGetMappedArray @ 3000 => unsupported (p_array: Out<Handle>, resource: Handle, array_index: u32,
        mip_level: u32);
    cuGraphicsResourceGetMappedEglFrame @ 7000 => unsupported (frame: *mut c_void, resource: Handle, index: u32, mip_level: u32);
    cuGraphicsVDPAURegisterOutputSurface @ 3010 => unsupported (resource: Out<Handle>, surface: u32, flags: u32);
    cuGraphicsVDPAURegisterVideoSurface @ 3010 => unsupported (resource: Out<Handle>, surface: u32, flags: u32);
    cuGraphicsUnmapResources @ 3000 / cuGraphicsUnmapResources_ptsz @ 7000 => unsupported (count: u32, resources: Out<Handle>,
        stream: CUstream);
    cuGraphicsUnregisterResource @ 3000 => unsupported (resource: Handle);
    cuGreenCtxCreate @ 12040 => unsupported (ctx: Out<Handle>, desc: Handle, dev: CUdevice, flags: u32);
    cuGreenCtxDestroy @ 12040 => unsupported (ctx: Handle);
    cuGreenCtxGetDevResource @ 12040 => unsupported (ctx: Handle, resource: *mut c_void, kind: u32);
    cuGreenCtxGetId @ 12090 => unsupported (green_ctx: Handle, green_ctx_id: Out<u64>);
    cuGreenCtxRecordEvent @ 12040 => unsupported (ctx: Handle, event: CUevent);
    cuGreenCtxStreamCreate @ 12050 => unsupported (stream: Out<CUstream>, green_ctx: Handle, flags: u32, priority: i32);
    cuGreenCtxWaitEvent @ 12040 => unsupported (ctx: Handle, event: CUevent);
    cuImportExternalMemory @ 10000 => unsupported (ext_mem_out: Out<Handle>, mem_handle_desc: *const c_void);
    cuImportExternalSemaphore @ 10000 => unsupported (ext_sem_out: Out<Handle>, sem_handle_desc: *const c_void);
    cuIpcCloseMemHandle @ 4010 => unsupported (dptr: CUdeviceptr);
    cuIpcGetEventHandle @ 4010 => unsupported (p_handle: Out<IpcHandle>, event: CUevent);
    cuIpcGetMemHandle @ 4010 => unsupported (p_handle: Out<IpcHandle>, dptr: CUdeviceptr);
    cuIpcOpenEventHandle @ 4010 => unsupported (event: Out<CUevent>, handle: IpcHandle);
    cuIpcOpenMemHandle @ 4010 => unsupported (pdptr: Out<CUdeviceptr>, handle: IpcHandle, flags: u32);
    cuIpcOpenMemHandle_v2 @ 11000 => unsupported (pdptr: Out<CUdeviceptr>, handle: IpcHandle, flags: u32);
    cuLogicalEndpointAddDevice @ 13030 => unsupported (le_id: u32, dev: CUdevice);
    cuLogicalEndpointBindAddr @ 13030 => unsupported (le_id: u32, dev: CUdevice, offset: u64, ptr: *mut c_void, size: u64,
        flags: u64);
    cuLogicalEndpointBindMem @ 13030 => unsupported (le_id: u32, dev: CUdevice, offset: u64, mem_handle: u64, mem_offset: u64,
        size: u64, flags: u64);
    cuLogicalEndpointCreate @ 13030 => unsupported (le_id: u32, prop: *const c_void);
    cuLogicalEndpointDestroy @ 13030 => unsupported (le_id: u32);
    cuLogicalEndpointExport @ 13030 => unsupported (handle: *mut c_void, le_id: u32, handle_type: u32);
    cuLogicalEndpointGetLimits @ 13030 => unsupported (bind_alignment: Out<u64>, max_size: Out<u64>, prop: *const c_void);
    cuLogicalEndpointIdRelease @ 13030 => unsupported (le_id: u32, count: u32);
    cuLogicalEndpointIdReserve @ 13030 => unsupported (le_id: Out<u32>, count: u32);
    cuLogicalEndpointImport @ 13030 => unsupported (le_id: u32, handle: *const c_void, handle_type: u32);
    cuLogicalEndpointQuery @ 13030 => unsupported (le_id: u32, count: u32, query_status: Out<i32>);
    cuLogicalEndpointUnbind @ 13030 => unsupported (le_id: u32, dev: CUdevice, offset: u64, size: u64);
    cuLogsCurrent @ 12090 => unsupported (iterator_out: Out<u32>, flags: u32);
    cuLogsDumpToFile @ 12090 => unsupported (iterator: Out<u32>, path_to_file: Text, flags: u32);
    cuLogsDumpToMemory @ 12090 => unsupported (iterator: Out<u32>, buffer: Out<c_char>, size: Out<usize>, flags: u32);
    cuLogsRegisterCallback @ 12090 => unsupported (callback_func: *mut c_void, user_data: *mut c_void,
        callback_out: Out<Handle>);
    cuLogsUnregisterCallback @ 12090 => unsupported (callback: Handle);
    cuMemExportToShareableHandle @ 10020 => unsupported (shareable_handle: *mut c_void, handle: u64, handle_type: u32,
        flags: u64);
    cuMemGetHandleForAddressRange @ 11070 => unsupported (handle: *mut c_void, dptr: CUdeviceptr, size: usize, handle_type: u32,
        flags: u64);
    cuMemImportFromShareableHandle @ 10020 => unsupported (handle: Out<u64>, os_handle: *mut c_void, sh_handle_type: u32);
    cuMulticastAddDevice @ 12010 => multicast (mc_handle: u64, dev: CUdevice);
    cuMulticastBindAddr @ 12010 => multicast (mc_handle: u64, mc_offset: usize, memptr: CUdeviceptr, size: usize,
        flags: u64);
    cuMulticastBindAddr_v2 @ 13010 => multicast (mc_handle: u64, dev: CUdevice, mc_offset: usize, memptr: CUdeviceptr,
        size: usize, flags: u64);
    cuMulticastBindMem @ 12010 => multicast (mc_handle: u64, mc_offset: usize, mem_handle: u64, mem_offset: usize,
        size: usize, flags: u64);
    cuMulticastBindMem_v2 @ 13010 => multicast (mc_handle: u64, dev: CUdevice, mc_offset: usize, mem_handle: u64,
        mem_offset: usize, size: usize, flags: u64);
    cuMulticastCreate @ 12010 => multicast (mc_handle: Out<u64>, prop: In<CUmulticastObjectProp>);
    cuMulticastGetGranularity @ 12010 => multicast (granularity: Out<usize>, prop: In<CUmulticastObjectProp>, option: u32);
    cuMulticastUnbind @ 12010 => multicast (mc_handle: u64, dev: CUdevice, mc_offset: usize, size: usize);
    cuProfilerInitialize @ 0 => tools (config_file: Text, output_file: Text, output_mode: u32);
    cuProfilerStart @ 0 => tools ();
    cuProfilerStop @ 0 => tools ();
    cuSignalExternalSemaphoresAsync @ 10000 / cuSignalExternalSemaphoresAsync_ptsz @ 10000 => unsupported (ext_sem_array: In<Handle>,
        params_array: *const c_void, num_ext_sems: u32, stream: CUstream);
    cuStreamBeginCaptureToCig @ 13010 / cuStreamBeginCaptureToCig_ptsz @ 13010 => unsupported (stream: CUstream,
        stream_cig_capture_params: *mut c_void);
    cuStreamEndCaptureToCig @ 13010 / cuStreamEndCaptureToCig_ptsz @ 13010 => unsupported (stream: CUstream);
    cuStreamGetDevResource @ 13010 / cuStreamGetDevResource_ptsz @ 13010 => unsupported (stream: CUstream, resource: *mut c_void,
        kind: u32);
    cuStreamGetGreenCtx @ 12040 => unsupported (stream: CUstream, ctx: Out<Handle>);
    cuUserObjectCreate @ 11030 => graph (object_out: Out<Handle>, ptr: *mut c_void, destroy: CUhostFn,
        initial_refcount: u32, flags: u32);
    cuUserObjectRelease @ 11030 => graph (object: Handle, count: u32);
    cuUserObjectRetain @ 11030 => graph (object: Handle, count: u32);
    cuWaitExternalSemaphoresAsync @ 10000 / cuWaitExternalSemaphoresAsync_ptsz @ 10000 => unsupported (ext_sem_array: In<Handle>,
        params_array: *const c_void, num_ext_sems: u32, stream: CUstream);
}
