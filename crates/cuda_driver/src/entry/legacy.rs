//! Interfaces of CUDA 2 and 3 that later versions replaced.

use std::ffi::c_void;

use crate::abi::{
    CUcontext, CUdevice, CUdeviceptr_v1, CUevent, CUfunction, CUmodule, CUstream, Handle, Out, Text,
};
use crate::entry::entry_points;

entry_points! {
    cuArray3DCreate @ 2000 => nobody (p_handle: Out<Handle>, p_allocate_array: *const c_void);
    cuArray3DGetDescriptor @ 2000 => nobody (p_array_descriptor: *mut c_void, array: Handle);
    cuArrayCreate @ 2000 => nobody (p_handle: Out<Handle>, p_allocate_array: *const c_void);
    cuArrayGetDescriptor @ 2000 => nobody (p_array_descriptor: *mut c_void, array: Handle);
    cuCtxCreate @ 2000 => context (pctx: Out<CUcontext>, flags: u32, dev: CUdevice);
    cuCtxDestroy @ 2000 => context (ctx: CUcontext);
    cuCtxPopCurrent @ 2000 => context (pctx: Out<CUcontext>);
    cuCtxPushCurrent @ 2000 => context (ctx: CUcontext);
    cuDeviceTotalMem @ 2000 => nobody (bytes: Out<u32>, dev: CUdevice);
    cuEventDestroy @ 2000 => event (event: CUevent);
    cuFuncSetBlockShape @ 2000 => legacy_launch (hfunc: CUfunction, x: i32, y: i32, z: i32);
    cuFuncSetSharedSize @ 2000 => legacy_launch (hfunc: CUfunction, bytes: u32);
    cuGraphicsResourceGetMappedPointer @ 3000 => nobody (
        p_dev_ptr: Out<CUdeviceptr_v1>, p_size: Out<u32>, resource: Handle
    );
    cuLaunch @ 2000 => legacy_launch (f: CUfunction);
    cuLaunchGrid @ 2000 => legacy_launch (f: CUfunction, grid_width: i32, grid_height: i32);
    cuLaunchGridAsync @ 2000 => legacy_launch (f: CUfunction, grid_width: i32, grid_height: i32, stream: CUstream);
    cuMemAlloc @ 2000 => nobody (dptr: Out<CUdeviceptr_v1>, bytesize: u32);
    cuMemAllocHost @ 2000 => nobody (pp: Out<*mut c_void>, bytesize: u32);
    cuMemAllocPitch @ 2000 => nobody (
        dptr: Out<CUdeviceptr_v1>, p_pitch: Out<u32>, width_in_bytes: u32, height: u32, element_size_bytes: u32
    );
    cuMemFree @ 2000 => nobody (dptr: CUdeviceptr_v1);
    cuMemGetAddressRange @ 2000 => nobody (pbase: Out<CUdeviceptr_v1>, psize: Out<u32>, dptr: CUdeviceptr_v1);
    cuMemGetInfo @ 2000 => nobody (free: Out<u32>, total: Out<u32>);
    cuMemHostGetDevicePointer @ 2020 => nobody (pdptr: Out<CUdeviceptr_v1>, p: *mut c_void, flags: u32);
    cuMemcpy2D @ 2000 => nobody (p_copy: *const c_void);
    cuMemcpy2DAsync @ 2000 => nobody (p_copy: *const c_void, stream: CUstream);
    cuMemcpy2DUnaligned @ 2000 => nobody (p_copy: *const c_void);
    cuMemcpy3D @ 2000 => nobody (p_copy: *const c_void);
    cuMemcpy3DAsync @ 2000 => nobody (p_copy: *const c_void, stream: CUstream);
    cuMemcpyAtoA @ 2000 => nobody (
        dst_array: Handle, dst_offset: u32, src_array: Handle, src_offset: u32, byte_count: u32
    );
    cuMemcpyAtoD @ 2000 => nobody (dst_device: CUdeviceptr_v1, src_array: Handle, src_offset: u32, byte_count: u32);
    cuMemcpyAtoH @ 2000 => nobody (dst_host: *mut c_void, src_array: Handle, src_offset: u32, byte_count: u32);
    cuMemcpyAtoHAsync @ 2000 => nobody (
        dst_host: *mut c_void, src_array: Handle, src_offset: u32, byte_count: u32, stream: CUstream
    );
    cuMemcpyDtoA @ 2000 => nobody (dst_array: Handle, dst_offset: u32, src_device: CUdeviceptr_v1, byte_count: u32);
    cuMemcpyDtoD @ 2000 => nobody (dst_device: CUdeviceptr_v1, src_device: CUdeviceptr_v1, byte_count: u32);
    cuMemcpyDtoDAsync @ 3000 => nobody (
        dst_device: CUdeviceptr_v1, src_device: CUdeviceptr_v1, byte_count: u32, stream: CUstream
    );
    cuMemcpyDtoH @ 2000 => nobody (dst_host: *mut c_void, src_device: CUdeviceptr_v1, byte_count: u32);
    cuMemcpyDtoHAsync @ 2000 => nobody (
        dst_host: *mut c_void, src_device: CUdeviceptr_v1, byte_count: u32, stream: CUstream
    );
    cuMemcpyHtoA @ 2000 => nobody (dst_array: Handle, dst_offset: u32, src_host: *const c_void, byte_count: u32);
    cuMemcpyHtoAAsync @ 2000 => nobody (
        dst_array: Handle, dst_offset: u32, src_host: *const c_void, byte_count: u32, stream: CUstream
    );
    cuMemcpyHtoD @ 2000 => nobody (dst_device: CUdeviceptr_v1, src_host: *const c_void, byte_count: u32);
    cuMemcpyHtoDAsync @ 2000 => nobody (
        dst_device: CUdeviceptr_v1, src_host: *const c_void, byte_count: u32, stream: CUstream
    );
    cuMemsetD16 @ 2000 => nobody (dst_device: CUdeviceptr_v1, us: u16, n: u32);
    cuMemsetD2D16 @ 2000 => nobody (dst_device: CUdeviceptr_v1, dst_pitch: u32, us: u16, width: u32, height: u32);
    cuMemsetD2D32 @ 2000 => nobody (dst_device: CUdeviceptr_v1, dst_pitch: u32, ui: u32, width: u32, height: u32);
    cuMemsetD2D8 @ 2000 => nobody (dst_device: CUdeviceptr_v1, dst_pitch: u32, uc: u8, width: u32, height: u32);
    cuMemsetD32 @ 2000 => nobody (dst_device: CUdeviceptr_v1, ui: u32, n: u32);
    cuMemsetD8 @ 2000 => nobody (dst_device: CUdeviceptr_v1, uc: u8, n: u32);
    cuModuleGetGlobal @ 2000 => nobody (dptr: Out<CUdeviceptr_v1>, bytes: Out<u32>, module: CUmodule, name: Text);
    cuParamSetSize @ 2000 => legacy_launch (hfunc: CUfunction, numbytes: u32);
    cuParamSetTexRef @ 2000 => legacy_launch (hfunc: CUfunction, texunit: i32, tex_ref: Handle);
    cuParamSetf @ 2000 => legacy_launch (hfunc: CUfunction, offset: i32, value: f32);
    cuParamSeti @ 2000 => legacy_launch (hfunc: CUfunction, offset: i32, value: u32);
    cuParamSetv @ 2000 => legacy_launch (hfunc: CUfunction, offset: i32, ptr: *mut c_void, numbytes: u32);
    cuStreamDestroy @ 2000 => stream (stream: CUstream);
    cuTexRefGetAddress @ 2000 => nobody (pdptr: Out<CUdeviceptr_v1>, tex_ref: Handle);
    cuTexRefSetAddress @ 2000 => nobody (byte_offset: Out<u32>, tex_ref: Handle, dptr: CUdeviceptr_v1, bytes: u32);
    cuTexRefSetAddress2D @ 2020 => nobody (tex_ref: Handle, desc: *const c_void, dptr: CUdeviceptr_v1, pitch: u32);
}
