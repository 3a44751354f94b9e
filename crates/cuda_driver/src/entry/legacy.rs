//! Retired entries: the 32-bit interface and the launch calls of CUDA 2 and 3, texture references.

use std::ffi::c_void;

use crate::abi::{
    CUDA_ARRAY_DESCRIPTOR, CUcontext, CUdevice, CUdeviceptr, CUdeviceptr_v1, CUevent, CUfunction, CUmodule,
    CUstream, Handle, In, Out, Text,
};
use crate::entry::entry_points;

entry_points! {
    cuArray3DCreate @ 2000 => retired (p_handle: Out<Handle>, p_allocate_array: *const c_void) as cuArray3DCreate_v2;
    cuArray3DGetDescriptor @ 2000 => retired (p_array_descriptor: *mut c_void, array: Handle) as cuArray3DGetDescriptor_v2;
    cuArrayCreate @ 2000 => retired (p_handle: Out<Handle>, p_allocate_array: *const c_void) as cuArrayCreate_v2;
    cuArrayGetDescriptor @ 2000 => retired (p_array_descriptor: *mut c_void, array: Handle) as cuArrayGetDescriptor_v2;
    cuCtxCreate @ 2000 => context (pctx: Out<CUcontext>, flags: u32, dev: CUdevice);
    cuCtxDestroy @ 2000 => context (ctx: CUcontext) as cuCtxDestroy_v2;
    cuCtxPopCurrent @ 2000 => context (pctx: Out<CUcontext>) as cuCtxPopCurrent_v2;
    cuCtxPushCurrent @ 2000 => context (ctx: CUcontext) as cuCtxPushCurrent_v2;
    cuDeviceTotalMem @ 2000 => retired (bytes: Out<u32>, dev: CUdevice) as cuDeviceTotalMem_v2;
    cuEventDestroy @ 2000 => event (event: CUevent) as cuEventDestroy_v2;
    cuFuncSetBlockShape @ 2000 => retired (hfunc: CUfunction, x: i32, y: i32, z: i32) as cuLaunchKernel;
    cuFuncSetSharedSize @ 2000 => retired (hfunc: CUfunction, bytes: u32) as cuLaunchKernel;
    cuGraphicsResourceGetMappedPointer @ 3000 => retired (
        p_dev_ptr: Out<CUdeviceptr_v1>, p_size: Out<u32>, resource: Handle
    ) as cuGraphicsResourceGetMappedPointer_v2;
    cuLaunch @ 2000 => retired (f: CUfunction) as cuLaunchKernel;
    cuLaunchGrid @ 2000 => retired (f: CUfunction, grid_width: i32, grid_height: i32) as cuLaunchKernel;
    cuLaunchGridAsync @ 2000 => retired (f: CUfunction, grid_width: i32, grid_height: i32, stream: CUstream) as cuLaunchKernel;
    cuMemAlloc @ 2000 => retired (dptr: Out<CUdeviceptr_v1>, bytesize: u32) as cuMemAlloc_v2;
    cuMemAllocHost @ 2000 => retired (pp: Out<*mut c_void>, bytesize: u32) as cuMemAllocHost_v2;
    cuMemAllocPitch @ 2000 => retired (
        dptr: Out<CUdeviceptr_v1>, p_pitch: Out<u32>, width_in_bytes: u32, height: u32, element_size_bytes: u32
    ) as cuMemAllocPitch_v2;
    cuMemFree @ 2000 => retired (dptr: CUdeviceptr_v1) as cuMemFree_v2;
    cuMemGetAddressRange @ 2000 => retired (pbase: Out<CUdeviceptr_v1>, psize: Out<u32>, dptr: CUdeviceptr_v1) as cuMemGetAddressRange_v2;
    cuMemGetInfo @ 2000 => retired (free: Out<u32>, total: Out<u32>) as cuMemGetInfo_v2;
    cuMemHostGetDevicePointer @ 2020 => retired (pdptr: Out<CUdeviceptr_v1>, p: *mut c_void, flags: u32) as cuMemHostGetDevicePointer_v2;
    cuMemcpy2D @ 2000 => retired (p_copy: *const c_void) as cuMemcpy2D_v2;
    cuMemcpy2DAsync @ 2000 => retired (p_copy: *const c_void, stream: CUstream) as cuMemcpy2DAsync_v2;
    cuMemcpy2DUnaligned @ 2000 => retired (p_copy: *const c_void) as cuMemcpy2DUnaligned_v2;
    cuMemcpy3D @ 2000 => retired (p_copy: *const c_void) as cuMemcpy3D_v2;
    cuMemcpy3DAsync @ 2000 => retired (p_copy: *const c_void, stream: CUstream) as cuMemcpy3DAsync_v2;
    cuMemcpyAtoA @ 2000 => retired (
        dst_array: Handle, dst_offset: u32, src_array: Handle, src_offset: u32, byte_count: u32
    ) as cuMemcpyAtoA_v2;
    cuMemcpyAtoD @ 2000 => retired (dst_device: CUdeviceptr_v1, src_array: Handle, src_offset: u32, byte_count: u32) as cuMemcpyAtoD_v2;
    cuMemcpyAtoH @ 2000 => retired (dst_host: *mut c_void, src_array: Handle, src_offset: u32, byte_count: u32) as cuMemcpyAtoH_v2;
    cuMemcpyAtoHAsync @ 2000 => retired (
        dst_host: *mut c_void, src_array: Handle, src_offset: u32, byte_count: u32, stream: CUstream
    ) as cuMemcpyAtoHAsync_v2;
    cuMemcpyDtoA @ 2000 => retired (dst_array: Handle, dst_offset: u32, src_device: CUdeviceptr_v1, byte_count: u32) as cuMemcpyDtoA_v2;
    cuMemcpyDtoD @ 2000 => retired (dst_device: CUdeviceptr_v1, src_device: CUdeviceptr_v1, byte_count: u32) as cuMemcpyDtoD_v2;
    cuMemcpyDtoDAsync @ 3000 => retired (
        dst_device: CUdeviceptr_v1, src_device: CUdeviceptr_v1, byte_count: u32, stream: CUstream
    ) as cuMemcpyDtoDAsync_v2;
    cuMemcpyDtoH @ 2000 => retired (dst_host: *mut c_void, src_device: CUdeviceptr_v1, byte_count: u32) as cuMemcpyDtoH_v2;
    cuMemcpyDtoHAsync @ 2000 => retired (
        dst_host: *mut c_void, src_device: CUdeviceptr_v1, byte_count: u32, stream: CUstream
    ) as cuMemcpyDtoHAsync_v2;
    cuMemcpyHtoA @ 2000 => retired (dst_array: Handle, dst_offset: u32, src_host: *const c_void, byte_count: u32) as cuMemcpyHtoA_v2;
    cuMemcpyHtoAAsync @ 2000 => retired (
        dst_array: Handle, dst_offset: u32, src_host: *const c_void, byte_count: u32, stream: CUstream
    ) as cuMemcpyHtoAAsync_v2;
    cuMemcpyHtoD @ 2000 => retired (dst_device: CUdeviceptr_v1, src_host: *const c_void, byte_count: u32) as cuMemcpyHtoD_v2;
    cuMemcpyHtoDAsync @ 2000 => retired (
        dst_device: CUdeviceptr_v1, src_host: *const c_void, byte_count: u32, stream: CUstream
    ) as cuMemcpyHtoDAsync_v2;
    cuMemsetD16 @ 2000 => retired (dst_device: CUdeviceptr_v1, us: u16, n: u32) as cuMemsetD16_v2;
    cuMemsetD2D16 @ 2000 => retired (dst_device: CUdeviceptr_v1, dst_pitch: u32, us: u16, width: u32, height: u32) as cuMemsetD2D16_v2;
    cuMemsetD2D32 @ 2000 => retired (dst_device: CUdeviceptr_v1, dst_pitch: u32, ui: u32, width: u32, height: u32) as cuMemsetD2D32_v2;
    cuMemsetD2D8 @ 2000 => retired (dst_device: CUdeviceptr_v1, dst_pitch: u32, uc: u8, width: u32, height: u32) as cuMemsetD2D8_v2;
    cuMemsetD32 @ 2000 => retired (dst_device: CUdeviceptr_v1, ui: u32, n: u32) as cuMemsetD32_v2;
    cuMemsetD8 @ 2000 => retired (dst_device: CUdeviceptr_v1, uc: u8, n: u32) as cuMemsetD8_v2;
    cuModuleGetGlobal @ 2000 => retired (dptr: Out<CUdeviceptr_v1>, bytes: Out<u32>, module: CUmodule, name: Text) as cuModuleGetGlobal_v2;
    cuModuleGetSurfRef @ 3000 => retired (p_surf_ref: Out<Handle>, module: CUmodule, name: Text) as cuSurfObjectCreate;
    cuModuleGetTexRef @ 2000 => retired (p_tex_ref: Out<Handle>, module: CUmodule, name: Text) as cuTexObjectCreate;
    cuParamSetSize @ 2000 => retired (hfunc: CUfunction, numbytes: u32) as cuLaunchKernel;
    cuParamSetTexRef @ 2000 => retired (hfunc: CUfunction, texunit: i32, tex_ref: Handle) as cuTexObjectCreate;
    cuParamSetf @ 2000 => retired (hfunc: CUfunction, offset: i32, value: f32) as cuLaunchKernel;
    cuParamSeti @ 2000 => retired (hfunc: CUfunction, offset: i32, value: u32) as cuLaunchKernel;
    cuParamSetv @ 2000 => retired (hfunc: CUfunction, offset: i32, ptr: *mut c_void, numbytes: u32) as cuLaunchKernel;
    cuStreamDestroy @ 2000 => stream (stream: CUstream) as cuStreamDestroy_v2;
    cuSurfRefGetArray @ 3000 => retired (array: Out<Handle>, surf_ref: Handle) as cuSurfObjectCreate;
    cuSurfRefSetArray @ 3000 => retired (surf_ref: Handle, array: Handle, flags: u32) as cuSurfObjectCreate;
    cuTexRefCreate @ 2000 => retired (p_tex_ref: Out<Handle>) as cuTexObjectCreate;
    cuTexRefDestroy @ 2000 => retired (tex_ref: Handle) as cuTexObjectCreate;
    cuTexRefGetAddress @ 2000 => retired (pdptr: Out<CUdeviceptr_v1>, tex_ref: Handle) as cuTexObjectCreate;
    cuTexRefGetAddressMode @ 2000 => retired (pam: Out<u32>, tex_ref: Handle, dim: i32) as cuTexObjectCreate;
    cuTexRefGetAddress_v2 @ 3020 => retired (pdptr: Out<CUdeviceptr>, tex_ref: Handle) as cuTexObjectCreate;
    cuTexRefGetArray @ 2000 => retired (array: Out<Handle>, tex_ref: Handle) as cuTexObjectCreate;
    cuTexRefGetBorderColor @ 8000 => retired (p_border_color: Out<f32>, tex_ref: Handle) as cuTexObjectCreate;
    cuTexRefGetFilterMode @ 2000 => retired (pfm: Out<u32>, tex_ref: Handle) as cuTexObjectCreate;
    cuTexRefGetFlags @ 2000 => retired (p_flags: Out<u32>, tex_ref: Handle) as cuTexObjectCreate;
    cuTexRefGetFormat @ 2000 => retired (p_format: Out<u32>, p_num_channels: Out<i32>, tex_ref: Handle) as cuTexObjectCreate;
    cuTexRefGetMaxAnisotropy @ 5000 => retired (pmax_aniso: Out<i32>, tex_ref: Handle) as cuTexObjectCreate;
    cuTexRefGetMipmapFilterMode @ 5000 => retired (pfm: Out<u32>, tex_ref: Handle) as cuTexObjectCreate;
    cuTexRefGetMipmapLevelBias @ 5000 => retired (pbias: Out<f32>, tex_ref: Handle) as cuTexObjectCreate;
    cuTexRefGetMipmapLevelClamp @ 5000 => retired (
        pmin_mipmap_level_clamp: Out<f32>, pmax_mipmap_level_clamp: Out<f32>, tex_ref: Handle
    ) as cuTexObjectCreate;
    cuTexRefGetMipmappedArray @ 5000 => retired (mipmapped_array: Out<Handle>, tex_ref: Handle) as cuTexObjectCreate;
    cuTexRefSetAddress @ 2000 => retired (byte_offset: Out<u32>, tex_ref: Handle, dptr: CUdeviceptr_v1, bytes: u32) as cuTexObjectCreate;
    cuTexRefSetAddress2D @ 2020 => retired (tex_ref: Handle, desc: *const c_void, dptr: CUdeviceptr_v1, pitch: u32) as cuTexObjectCreate;
    cuTexRefSetAddress2D_v2 @ 3020 => retired (tex_ref: Handle, desc: In<CUDA_ARRAY_DESCRIPTOR>, dptr: CUdeviceptr, pitch: usize) as cuTexObjectCreate;
    cuTexRefSetAddress2D_v3 @ 4010 => retired (tex_ref: Handle, desc: In<CUDA_ARRAY_DESCRIPTOR>, dptr: CUdeviceptr, pitch: usize) as cuTexObjectCreate;
    cuTexRefSetAddressMode @ 2000 => retired (tex_ref: Handle, dim: i32, am: u32) as cuTexObjectCreate;
    cuTexRefSetAddress_v2 @ 3020 => retired (
        byte_offset: Out<usize>, tex_ref: Handle, dptr: CUdeviceptr, bytes: usize
    ) as cuTexObjectCreate;
    cuTexRefSetArray @ 2000 => retired (tex_ref: Handle, array: Handle, flags: u32) as cuTexObjectCreate;
    cuTexRefSetBorderColor @ 8000 => retired (tex_ref: Handle, p_border_color: In<f32>) as cuTexObjectCreate;
    cuTexRefSetFilterMode @ 2000 => retired (tex_ref: Handle, fm: u32) as cuTexObjectCreate;
    cuTexRefSetFlags @ 2000 => retired (tex_ref: Handle, flags: u32) as cuTexObjectCreate;
    cuTexRefSetFormat @ 2000 => retired (tex_ref: Handle, fmt: u32, num_packed_components: i32) as cuTexObjectCreate;
    cuTexRefSetMaxAnisotropy @ 5000 => retired (tex_ref: Handle, max_aniso: u32) as cuTexObjectCreate;
    cuTexRefSetMipmapFilterMode @ 5000 => retired (tex_ref: Handle, fm: u32) as cuTexObjectCreate;
    cuTexRefSetMipmapLevelBias @ 5000 => retired (tex_ref: Handle, bias: f32) as cuTexObjectCreate;
    cuTexRefSetMipmapLevelClamp @ 5000 => retired (
        tex_ref: Handle, min_mipmap_level_clamp: f32, max_mipmap_level_clamp: f32
    ) as cuTexObjectCreate;
    cuTexRefSetMipmappedArray @ 5000 => retired (tex_ref: Handle, mipmapped_array: Handle, flags: u32) as cuTexObjectCreate;
}
