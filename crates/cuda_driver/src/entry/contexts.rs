//! Initialisation, devices, contexts.

use std::ffi::{c_char, c_void};

use crate::abi::{CUcontext, CUdevice, CUdevprop, CUmemoryPool, CUresult, CUuuid, In, Out, Text};
use crate::entry::entry_points;

entry_points! {
    cuCtxAttach @ 2000 => context (pctx: Out<CUcontext>, flags: u32);
    cuCtxCreate_v2 @ 3020 => context (pctx: Out<CUcontext>, flags: u32, dev: CUdevice);
    cuCtxCreate_v3 @ 11040 => context (
        pctx: Out<CUcontext>, params_array: *mut c_void, num_params: i32, flags: u32, dev: CUdevice
    );
    cuCtxCreate_v4 @ 12050 => context (
        pctx: Out<CUcontext>, ctx_create_params: *mut c_void, flags: u32, dev: CUdevice
    );
    cuCtxDestroy_v2 @ 4000 => context (ctx: CUcontext);
    cuCtxDetach @ 2000 => context (ctx: CUcontext);
    cuCtxDisablePeerAccess @ 4000 => context (peer_context: CUcontext);
    cuCtxEnablePeerAccess @ 4000 => context (peer_context: CUcontext, flags: u32);
    cuCtxGetApiVersion @ 3020 => context (ctx: CUcontext, version: Out<u32>);
    cuCtxGetCacheConfig @ 3020 => limits (pconfig: Out<u32>);
    cuCtxGetCurrent @ 4000 => context (pctx: Out<CUcontext>);
    cuCtxGetDevice @ 2000 => context (device: Out<CUdevice>) as cuCtxGetDevice_v2 (0);
    cuCtxGetDevice_v2 @ 13000 => context (device: Out<CUdevice>, ctx: CUcontext);
    cuCtxGetExecAffinity @ 11040 => unsupported (p_exec_affinity: *mut c_void, kind: u32);
    cuCtxGetFlags @ 7000 => context (flags: Out<u32>);
    cuCtxGetId @ 12000 => context (ctx: CUcontext, ctx_id: Out<u64>);
    cuCtxGetLimit @ 3010 => limits (pvalue: Out<usize>, limit: u32);
    cuCtxGetSharedMemConfig @ 4020 => limits (p_config: Out<u32>);
    cuCtxGetStreamPriorityRange @ 5050 => limits (least_priority: Out<i32>, greatest_priority: Out<i32>);
    cuCtxPopCurrent_v2 @ 4000 => context (pctx: Out<CUcontext>);
    cuCtxPushCurrent_v2 @ 4000 => context (ctx: CUcontext);
    cuCtxResetPersistingL2Cache @ 11000 => limits ();
    cuCtxSetCacheConfig @ 3020 => limits (config: u32);
    cuCtxSetCurrent @ 4000 => context (ctx: CUcontext);
    cuCtxSetFlags @ 12010 => context (flags: u32);
    cuCtxSetLimit @ 3010 => limits (limit: u32, value: usize);
    cuCtxSetSharedMemConfig @ 4020 => limits (config: u32);
    cuCtxSynchronize @ 2000 => context () as cuCtxSynchronize_v2 (0);
    cuCtxSynchronize_v2 @ 13000 => context (ctx: CUcontext);
    cuDeviceCanAccessPeer @ 4000 => device (can_access_peer: Out<i32>, dev: CUdevice, peer_dev: CUdevice);
    cuDeviceComputeCapability @ 2000 => device (major: Out<i32>, minor: Out<i32>, dev: CUdevice);
    cuDeviceGet @ 2000 => device (device: Out<CUdevice>, ordinal: i32);
    cuDeviceGetAttribute @ 2000 => device (pi: Out<i32>, attrib: u32, dev: CUdevice);
    cuDeviceGetByPCIBusId @ 4010 => device (dev: Out<CUdevice>, pci_bus_id: Text);
    cuDeviceGetCount @ 2000 => device (count: Out<i32>);
    cuDeviceGetDefaultMemPool @ 11020 => pool (pool_out: Out<CUmemoryPool>, dev: CUdevice);
    cuDeviceGetExecAffinitySupport @ 11040 => device (pi: Out<i32>, kind: u32, dev: CUdevice);
    cuDeviceGetHostAtomicCapabilities @ 13000 => unsupported (
        capabilities: Out<u32>, operations: In<u32>, count: u32, dev: CUdevice
    );
    cuDeviceGetLuid @ 10000 => device (luid: Out<c_char>, device_node_mask: Out<u32>, dev: CUdevice);
    cuDeviceGetMemPool @ 11020 => pool (pool: Out<CUmemoryPool>, dev: CUdevice);
    cuDeviceGetName @ 2000 => device (name: Out<c_char>, len: i32, dev: CUdevice);
    cuDeviceGetP2PAttribute @ 8000 => device (
        value: Out<i32>, attrib: u32, src_device: CUdevice, dst_device: CUdevice
    );
    cuDeviceGetP2PAtomicCapabilities @ 13000 => unsupported (
        capabilities: Out<u32>, operations: In<u32>, count: u32, src_device: CUdevice, dst_device: CUdevice
    );
    cuDeviceGetPCIBusId @ 4010 => device (pci_bus_id: Out<c_char>, len: i32, dev: CUdevice);
    cuDeviceGetProperties @ 2000 => device (prop: Out<CUdevprop>, dev: CUdevice);
    cuDeviceGetTexture1DLinearMaxWidth @ 11010 => device (
        max_width_in_elements: Out<usize>, format: u32, num_channels: u32, dev: CUdevice
    );
    cuDeviceGetUuid @ 9020 => device (uuid: Out<CUuuid>, dev: CUdevice);
    cuDeviceGetUuid_v2 @ 11040 => device (uuid: Out<CUuuid>, dev: CUdevice) as cuDeviceGetUuid;
    cuDevicePrimaryCtxGetState @ 7000 => context (dev: CUdevice, flags: Out<u32>, active: Out<i32>);
    cuDevicePrimaryCtxRelease @ 7000 => context (dev: CUdevice) as cuDevicePrimaryCtxRelease_v2;
    cuDevicePrimaryCtxRelease_v2 @ 11000 => context (dev: CUdevice);
    cuDevicePrimaryCtxReset @ 7000 => context (dev: CUdevice) as cuDevicePrimaryCtxReset_v2;
    cuDevicePrimaryCtxReset_v2 @ 11000 => context (dev: CUdevice);
    cuDevicePrimaryCtxRetain @ 7000 => context (pctx: Out<CUcontext>, dev: CUdevice);
    cuDevicePrimaryCtxSetFlags @ 7000 => context (dev: CUdevice, flags: u32) as cuDevicePrimaryCtxSetFlags_v2;
    cuDevicePrimaryCtxSetFlags_v2 @ 11000 => context (dev: CUdevice, flags: u32);
    cuDeviceSetMemPool @ 11020 => pool (dev: CUdevice, pool: CUmemoryPool);
    cuDeviceTotalMem_v2 @ 3020 => device (bytes: Out<usize>, dev: CUdevice);
    cuDriverGetVersion @ 2020 => errors (driver_version: Out<i32>);
    cuGetErrorName @ 6000 => errors (error: CUresult, p_str: Out<*const c_char>);
    cuGetErrorString @ 6000 => errors (error: CUresult, p_str: Out<*const c_char>);
    cuGetExportTable @ 3000 => device (pp_export_table: Out<*const c_void>, p_export_table_id: In<CUuuid>);
    cuGetProcAddress @ 11030 => lookup (symbol: Text, pfn: Out<*mut c_void>, cuda_version: i32, flags: u64);
    cuGetProcAddress_v2 @ 12000 => lookup (
        symbol: Text, pfn: Out<*mut c_void>, cuda_version: i32, flags: u64, symbol_status: Out<u32>
    );
    cuInit @ 2000 => device (flags: u32);
}
