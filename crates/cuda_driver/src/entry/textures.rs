//! Arrays, textures, surfaces, tensor maps.

use std::ffi::c_void;

use crate::abi::{
    CUDA_ARRAY_DESCRIPTOR, CUDA_ARRAY3D_DESCRIPTOR, CUDA_RESOURCE_DESC, CUDA_RESOURCE_VIEW_DESC,
    CUDA_TEXTURE_DESC, CUdevice, CUdeviceptr, CUstream, CUtensorMap, Handle, In, Out,
};
use crate::entry::entry_points;

entry_points! {
    cuArray3DCreate_v2 @ 3020 => array (p_handle: Out<Handle>, p_allocate_array: In<CUDA_ARRAY3D_DESCRIPTOR>);
    cuArray3DGetDescriptor_v2 @ 3020 => array (p_array_descriptor: Out<CUDA_ARRAY3D_DESCRIPTOR>, array: Handle);
    cuArrayCreate_v2 @ 3020 => array (p_handle: Out<Handle>, p_allocate_array: In<CUDA_ARRAY_DESCRIPTOR>);
    cuArrayDestroy @ 2000 => array (array: Handle);
    cuArrayGetDescriptor_v2 @ 3020 => array (p_array_descriptor: Out<CUDA_ARRAY_DESCRIPTOR>, array: Handle);
    cuArrayGetMemoryRequirements @ 11060 => unsupported (memory_requirements: *mut c_void, array: Handle, device: CUdevice);
    cuArrayGetPlane @ 11020 => unsupported (p_plane_array: Out<Handle>, array: Handle, plane_idx: u32);
    cuArrayGetSparseProperties @ 11010 => unsupported (sparse_properties: *mut c_void, array: Handle);
    cuMemMapArrayAsync @ 11010 / cuMemMapArrayAsync_ptsz @ 11010 => unsupported (map_info_list: *mut c_void, count: u32,
        stream: CUstream);
    cuMemcpyAtoA_v2 @ 3020 / cuMemcpyAtoA_v2_ptds @ 7000 => array (dst_array: Handle, dst_offset: usize, src_array: Handle,
        src_offset: usize, byte_count: usize);
    cuMemcpyAtoD_v2 @ 3020 / cuMemcpyAtoD_v2_ptds @ 7000 => array (dst_device: CUdeviceptr, src_array: Handle,
        src_offset: usize, byte_count: usize);
    cuMemcpyAtoHAsync_v2 @ 3020 / cuMemcpyAtoHAsync_v2_ptsz @ 7000 => array (dst_host: *mut c_void, src_array: Handle,
        src_offset: usize, byte_count: usize, stream: CUstream);
    cuMemcpyAtoH_v2 @ 3020 / cuMemcpyAtoH_v2_ptds @ 7000 => array (dst_host: *mut c_void, src_array: Handle,
        src_offset: usize, byte_count: usize);
    cuMemcpyDtoA_v2 @ 3020 / cuMemcpyDtoA_v2_ptds @ 7000 => array (dst_array: Handle, dst_offset: usize,
        src_device: CUdeviceptr, byte_count: usize);
    cuMemcpyHtoAAsync_v2 @ 3020 / cuMemcpyHtoAAsync_v2_ptsz @ 7000 => array (dst_array: Handle, dst_offset: usize,
        src_host: *const c_void, byte_count: usize, stream: CUstream);
    cuMemcpyHtoA_v2 @ 3020 / cuMemcpyHtoA_v2_ptds @ 7000 => array (dst_array: Handle, dst_offset: usize,
        src_host: *const c_void, byte_count: usize);
    cuMipmappedArrayCreate @ 5000 => array (p_handle: Out<Handle>, p_mipmapped_array_desc: In<CUDA_ARRAY3D_DESCRIPTOR>,
        num_mipmap_levels: u32);
    cuMipmappedArrayDestroy @ 5000 => array (mipmapped_array: Handle);
    cuMipmappedArrayGetLevel @ 5000 => array (p_level_array: Out<Handle>, mipmapped_array: Handle, level: u32);
    cuMipmappedArrayGetMemoryRequirements @ 11060 => unsupported (memory_requirements: *mut c_void, mipmap: Handle,
        device: CUdevice);
    cuMipmappedArrayGetSparseProperties @ 11010 => unsupported (sparse_properties: *mut c_void, mipmap: Handle);
    cuSurfObjectCreate @ 5000 => texture (p_surf_object: Out<u64>, p_res_desc: In<CUDA_RESOURCE_DESC>);
    cuSurfObjectDestroy @ 5000 => texture (surf_object: u64);
    cuSurfObjectGetResourceDesc @ 5000 => texture (p_res_desc: Out<CUDA_RESOURCE_DESC>, surf_object: u64);
    cuTensorMapEncodeIm2col @ 12000 => tensor_map (tensor_map: Out<CUtensorMap>, tensor_data_type: u32, tensor_rank: u32,
        global_address: *mut c_void, global_dim: In<u64>, global_strides: In<u64>, pixel_box_lower_corner: In<i32>,
        pixel_box_upper_corner: In<i32>, channels_per_pixel: u32, pixels_per_column: u32, element_strides: In<u32>,
        interleave: u32, swizzle: u32, l2_promotion: u32, oob_fill: u32);
    cuTensorMapEncodeIm2colWide @ 12080 => unsupported (tensor_map: Out<CUtensorMap>, tensor_data_type: u32, tensor_rank: u32,
        global_address: *mut c_void, global_dim: In<u64>, global_strides: In<u64>, pixel_box_lower_corner_width: i32,
        pixel_box_upper_corner_width: i32, channels_per_pixel: u32, pixels_per_column: u32, element_strides: In<u32>,
        interleave: u32, mode: u32, swizzle: u32, l2_promotion: u32, oob_fill: u32);
    cuTensorMapEncodeTiled @ 12000 => tensor_map (tensor_map: Out<CUtensorMap>, tensor_data_type: u32, tensor_rank: u32,
        global_address: *mut c_void, global_dim: In<u64>, global_strides: In<u64>, box_dim: In<u32>,
        element_strides: In<u32>, interleave: u32, swizzle: u32, l2_promotion: u32, oob_fill: u32);
    cuTensorMapReplaceAddress @ 12000 => tensor_map (tensor_map: Out<CUtensorMap>, global_address: *mut c_void);
    cuTensorMapSetAllocationClass @ 13050 => unsupported (tensor_map: Out<CUtensorMap>, alloc_class: u32,
        out_alloc_class: Out<u32>);
    cuTexObjectCreate @ 5000 => texture (p_tex_object: Out<u64>, p_res_desc: In<CUDA_RESOURCE_DESC>,
        p_tex_desc: In<CUDA_TEXTURE_DESC>, p_res_view_desc: In<CUDA_RESOURCE_VIEW_DESC>);
    cuTexObjectDestroy @ 5000 => texture (tex_object: u64);
    cuTexObjectGetResourceDesc @ 5000 => texture (p_res_desc: Out<CUDA_RESOURCE_DESC>, tex_object: u64);
    cuTexObjectGetResourceViewDesc @ 5000 => texture (p_res_view_desc: Out<CUDA_RESOURCE_VIEW_DESC>, tex_object: u64);
    cuTexObjectGetTextureDesc @ 5000 => texture (p_tex_desc: Out<CUDA_TEXTURE_DESC>, tex_object: u64);
}
