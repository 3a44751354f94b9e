//! Memory: allocation, copies, fills, pools, what a pointer is.

use std::ffi::c_void;

use crate::abi::{
    CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER, CUcontext, CUdevice, CUdeviceptr, CUmemAccessDesc,
    CUmemAllocationProp, CUmemLocation, CUmemPoolProps, CUmemcpyAttributes, CUmemoryPool, CUstream, In, Out,
};
use crate::entry::entry_points;

entry_points! {
    cuMemAddressFree @ 10020 => virtual_memory (ptr: CUdeviceptr, size: usize);
    cuMemAddressReserve @ 10020 => virtual_memory (
        ptr: Out<CUdeviceptr>, size: usize, alignment: usize, addr: CUdeviceptr, flags: u64
    );
    cuMemAdvise @ 8000 => pointer (dev_ptr: CUdeviceptr, count: usize, advice: u32, device: CUdevice);
    cuMemAdvise_v2 @ 12020 => pointer (dev_ptr: CUdeviceptr, count: usize, advice: u32, location: CUmemLocation);
    cuMemAllocAsync @ 11020 / cuMemAllocAsync_ptsz @ 11020 => pool (
        dptr: Out<CUdeviceptr>, bytesize: usize, stream: CUstream
    );
    cuMemAllocFromPoolAsync @ 11020 / cuMemAllocFromPoolAsync_ptsz @ 11020 => pool (
        dptr: Out<CUdeviceptr>, bytesize: usize, pool: CUmemoryPool, stream: CUstream
    );
    cuMemAllocHost_v2 @ 3020 => host_memory (pp: Out<*mut c_void>, bytesize: usize);
    cuMemAllocManaged @ 6000 => host_memory (dptr: Out<CUdeviceptr>, bytesize: usize, flags: u32);
    cuMemAllocPitch_v2 @ 3020 => memory (
        dptr: Out<CUdeviceptr>, p_pitch: Out<usize>, width_in_bytes: usize, height: usize, element_size_bytes: u32
    );
    cuMemAlloc_v2 @ 3020 => memory (dptr: Out<CUdeviceptr>, bytesize: usize);
    cuMemBatchDecompressAsync @ 12060 / cuMemBatchDecompressAsync_ptsz @ 12060 => unsupported (
        params_array: *mut c_void, count: usize, flags: u32, error_index: Out<usize>, stream: CUstream
    );
    cuMemCreate @ 10020 => virtual_memory (handle: Out<u64>, size: usize, prop: In<CUmemAllocationProp>, flags: u64);
    cuMemDiscardAndPrefetchBatchAsync @ 13000 / cuMemDiscardAndPrefetchBatchAsync_ptsz @ 13000 => batch (
        dptrs: In<CUdeviceptr>, sizes: In<usize>, count: usize, prefetch_locs: In<CUmemLocation>,
        prefetch_loc_idxs: In<usize>, num_prefetch_locs: usize, flags: u64, stream: CUstream
    ) as cuMemPrefetchBatchAsync;
    cuMemDiscardBatchAsync @ 13000 / cuMemDiscardBatchAsync_ptsz @ 13000 => batch (
        dptrs: In<CUdeviceptr>, sizes: In<usize>, count: usize, flags: u64, stream: CUstream
    );
    cuMemFreeAsync @ 11020 / cuMemFreeAsync_ptsz @ 11020 => pool (dptr: CUdeviceptr, stream: CUstream);
    cuMemFreeHost @ 2000 => host_memory (p: *mut c_void);
    cuMemFree_v2 @ 3020 => memory (dptr: CUdeviceptr);
    cuMemGetAccess @ 10020 => virtual_memory (flags: Out<u64>, location: In<CUmemLocation>, ptr: CUdeviceptr);
    cuMemGetAddressRange_v2 @ 3020 => memory (pbase: Out<CUdeviceptr>, psize: Out<usize>, dptr: CUdeviceptr);
    cuMemGetAllocationGranularity @ 10020 => virtual_memory (granularity: Out<usize>, prop: In<CUmemAllocationProp>, option: u32);
    cuMemGetAllocationPropertiesFromHandle @ 10020 => virtual_memory (prop: Out<CUmemAllocationProp>, handle: u64);
    cuMemGetDefaultMemPool @ 13000 => pool (pool_out: Out<CUmemoryPool>, location: In<CUmemLocation>, kind: u32);
    cuMemGetInfo_v2 @ 3020 => memory (free: Out<usize>, total: Out<usize>);
    cuMemGetLocationInfo @ 13040 => unsupported (
        ptr: CUdeviceptr, size: usize, summary_granularity: usize, sampling_granularity: usize,
        location_out: Out<CUmemLocation>
    );
    cuMemGetMemPool @ 13000 => pool (pool: Out<CUmemoryPool>, location: In<CUmemLocation>, kind: u32);
    cuMemHostAlloc @ 2020 => host_memory (pp: Out<*mut c_void>, bytesize: usize, flags: u32);
    cuMemHostGetDevicePointer_v2 @ 3020 => host_memory (pdptr: Out<CUdeviceptr>, p: *mut c_void, flags: u32);
    cuMemHostGetFlags @ 2030 => host_memory (p_flags: Out<u32>, p: *mut c_void);
    cuMemHostRegister @ 4000 => host_memory (p: *mut c_void, bytesize: usize, flags: u32) as cuMemHostRegister_v2;
    cuMemHostRegister_v2 @ 6050 => host_memory (p: *mut c_void, bytesize: usize, flags: u32);
    cuMemHostUnregister @ 4000 => host_memory (p: *mut c_void);
    cuMemMap @ 10020 => virtual_memory (ptr: CUdeviceptr, size: usize, offset: usize, handle: u64, flags: u64);
    cuMemPoolCreate @ 11020 => pool (pool: Out<CUmemoryPool>, pool_props: In<CUmemPoolProps>);
    cuMemPoolDestroy @ 11020 => pool (pool: CUmemoryPool);
    cuMemPoolExportPointer @ 11020 => unsupported (share_data_out: *mut c_void, ptr: CUdeviceptr);
    cuMemPoolExportToShareableHandle @ 11020 => unsupported (
        handle_out: *mut c_void, pool: CUmemoryPool, handle_type: u32, flags: u64
    );
    cuMemPoolGetAccess @ 11020 => pool (flags: Out<u32>, mem_pool: CUmemoryPool, location: Out<CUmemLocation>);
    cuMemPoolGetAttribute @ 11020 => pool (pool: CUmemoryPool, attr: u32, value: *mut c_void);
    cuMemPoolImportFromShareableHandle @ 11020 => unsupported (
        pool_out: Out<CUmemoryPool>, handle: *mut c_void, handle_type: u32, flags: u64
    );
    cuMemPoolImportPointer @ 11020 => unsupported (ptr_out: Out<CUdeviceptr>, pool: CUmemoryPool, share_data: *mut c_void);
    cuMemPoolSetAccess @ 11020 => pool (pool: CUmemoryPool, map: In<CUmemAccessDesc>, count: usize);
    cuMemPoolSetAttribute @ 11020 => pool (pool: CUmemoryPool, attr: u32, value: *mut c_void);
    cuMemPoolTrimTo @ 11020 => pool (pool: CUmemoryPool, min_bytes_to_keep: usize);
    cuMemPrefetchAsync @ 8000 / cuMemPrefetchAsync_ptsz @ 8000 => pointer (
        dev_ptr: CUdeviceptr, count: usize, dst_device: CUdevice, stream: CUstream
    );
    cuMemPrefetchAsync_v2 @ 12020 / cuMemPrefetchAsync_v2_ptsz @ 12020 => pointer (
        dev_ptr: CUdeviceptr, count: usize, location: CUmemLocation, flags: u32, stream: CUstream
    );
    cuMemPrefetchBatchAsync @ 13000 / cuMemPrefetchBatchAsync_ptsz @ 13000 => batch (
        dptrs: In<CUdeviceptr>, sizes: In<usize>, count: usize, prefetch_locs: In<CUmemLocation>,
        prefetch_loc_idxs: In<usize>, num_prefetch_locs: usize, flags: u64, stream: CUstream
    );
    cuMemRangeGetAttribute @ 8000 => pointer (
        data: *mut c_void, data_size: usize, attribute: u32, dev_ptr: CUdeviceptr, count: usize
    );
    cuMemRangeGetAttributes @ 8000 => pointer (
        data: In<*mut c_void>, data_sizes: In<usize>, attributes: In<u32>, num_attributes: usize,
        dev_ptr: CUdeviceptr, count: usize
    );
    cuMemRelease @ 10020 => virtual_memory (handle: u64);
    cuMemRetainAllocationHandle @ 11000 => virtual_memory (handle: Out<u64>, addr: *mut c_void);
    cuMemSetAccess @ 10020 => virtual_memory (ptr: CUdeviceptr, size: usize, desc: In<CUmemAccessDesc>, count: usize);
    cuMemSetMemPool @ 13000 => pool (location: In<CUmemLocation>, kind: u32, pool: CUmemoryPool);
    cuMemUnmap @ 10020 => virtual_memory (ptr: CUdeviceptr, size: usize);
    cuMemcpy @ 4000 / cuMemcpy_ptds @ 7000 => copy (dst: CUdeviceptr, src: CUdeviceptr, byte_count: usize);
    cuMemcpy2DAsync_v2 @ 3020 / cuMemcpy2DAsync_v2_ptsz @ 7000 => copy (
        p_copy: In<CUDA_MEMCPY2D>, stream: CUstream
    );
    cuMemcpy2DUnaligned_v2 @ 3020 / cuMemcpy2DUnaligned_v2_ptds @ 7000 => copy (p_copy: In<CUDA_MEMCPY2D>) as cuMemcpy2D_v2;
    cuMemcpy2D_v2 @ 3020 / cuMemcpy2D_v2_ptds @ 7000 => copy (p_copy: In<CUDA_MEMCPY2D>);
    cuMemcpy3DAsync_v2 @ 3020 / cuMemcpy3DAsync_v2_ptsz @ 7000 => copy (
        p_copy: In<CUDA_MEMCPY3D>, stream: CUstream
    );
    cuMemcpy3DBatchAsync @ 12080 / cuMemcpy3DBatchAsync_ptsz @ 12080 => unsupported (
        num_ops: usize, op_list: *mut c_void, fail_idx: Out<usize>, flags: u64, stream: CUstream
    );
    cuMemcpy3DBatchAsync_v2 @ 13000 / cuMemcpy3DBatchAsync_v2_ptsz @ 13000 => unsupported (
        num_ops: usize, op_list: *mut c_void, flags: u64, stream: CUstream
    );
    cuMemcpy3DPeer @ 4000 / cuMemcpy3DPeer_ptds @ 7000 => copy (p_copy: In<CUDA_MEMCPY3D_PEER>);
    cuMemcpy3DPeerAsync @ 4000 / cuMemcpy3DPeerAsync_ptsz @ 7000 => copy (
        p_copy: In<CUDA_MEMCPY3D_PEER>, stream: CUstream
    );
    cuMemcpy3DWithAttributesAsync @ 13020 / cuMemcpy3DWithAttributesAsync_ptsz @ 13020 => unsupported (
        op: *mut c_void, flags: u64, stream: CUstream
    );
    cuMemcpy3D_v2 @ 3020 / cuMemcpy3D_v2_ptds @ 7000 => copy (p_copy: In<CUDA_MEMCPY3D>);
    cuMemcpyAsync @ 4000 / cuMemcpyAsync_ptsz @ 7000 => copy (
        dst: CUdeviceptr, src: CUdeviceptr, byte_count: usize, stream: CUstream
    );
    cuMemcpyBatchAsync @ 12080 / cuMemcpyBatchAsync_ptsz @ 12080 => batch (
        dsts: In<CUdeviceptr>, srcs: In<CUdeviceptr>, sizes: In<usize>, count: usize, attrs: In<CUmemcpyAttributes>,
        attrs_idxs: In<usize>, num_attrs: usize, fail_idx: Out<usize>, stream: CUstream
    );
    cuMemcpyBatchAsync_v2 @ 13000 / cuMemcpyBatchAsync_v2_ptsz @ 13000 => batch (
        dsts: In<CUdeviceptr>, srcs: In<CUdeviceptr>, sizes: In<usize>, count: usize, attrs: In<CUmemcpyAttributes>,
        attrs_idxs: In<usize>, num_attrs: usize, stream: CUstream
    );
    cuMemcpyDtoDAsync_v2 @ 3020 / cuMemcpyDtoDAsync_v2_ptsz @ 7000 => copy (
        dst_device: CUdeviceptr, src_device: CUdeviceptr, byte_count: usize, stream: CUstream
    );
    cuMemcpyDtoD_v2 @ 3020 / cuMemcpyDtoD_v2_ptds @ 7000 => copy (
        dst_device: CUdeviceptr, src_device: CUdeviceptr, byte_count: usize
    );
    cuMemcpyDtoHAsync_v2 @ 3020 / cuMemcpyDtoHAsync_v2_ptsz @ 7000 => copy (
        dst_host: *mut c_void, src_device: CUdeviceptr, byte_count: usize, stream: CUstream
    );
    cuMemcpyDtoH_v2 @ 3020 / cuMemcpyDtoH_v2_ptds @ 7000 => copy (
        dst_host: *mut c_void, src_device: CUdeviceptr, byte_count: usize
    );
    cuMemcpyHtoDAsync_v2 @ 3020 / cuMemcpyHtoDAsync_v2_ptsz @ 7000 => copy (
        dst_device: CUdeviceptr, src_host: *const c_void, byte_count: usize, stream: CUstream
    );
    cuMemcpyHtoD_v2 @ 3020 / cuMemcpyHtoD_v2_ptds @ 7000 => copy (
        dst_device: CUdeviceptr, src_host: *const c_void, byte_count: usize
    );
    cuMemcpyPeer @ 4000 / cuMemcpyPeer_ptds @ 7000 => copy (
        dst_device: CUdeviceptr, dst_context: CUcontext, src_device: CUdeviceptr, src_context: CUcontext,
        byte_count: usize
    );
    cuMemcpyPeerAsync @ 4000 / cuMemcpyPeerAsync_ptsz @ 7000 => copy (
        dst_device: CUdeviceptr, dst_context: CUcontext, src_device: CUdeviceptr, src_context: CUcontext,
        byte_count: usize, stream: CUstream
    );
    cuMemcpyWithAttributesAsync @ 13020 / cuMemcpyWithAttributesAsync_ptsz @ 13020 => batch (
        dst: CUdeviceptr, src: CUdeviceptr, size: usize, attr: In<CUmemcpyAttributes>, stream: CUstream
    );
    cuMemsetD16Async @ 3020 / cuMemsetD16Async_ptsz @ 7000 => fill (
        dst_device: CUdeviceptr, us: u16, n: usize, stream: CUstream
    );
    cuMemsetD16_v2 @ 3020 / cuMemsetD16_v2_ptds @ 7000 => fill (dst_device: CUdeviceptr, us: u16, n: usize);
    cuMemsetD2D16Async @ 3020 / cuMemsetD2D16Async_ptsz @ 7000 => fill (
        dst_device: CUdeviceptr, dst_pitch: usize, us: u16, width: usize, height: usize, stream: CUstream
    );
    cuMemsetD2D16_v2 @ 3020 / cuMemsetD2D16_v2_ptds @ 7000 => fill (
        dst_device: CUdeviceptr, dst_pitch: usize, us: u16, width: usize, height: usize
    );
    cuMemsetD2D32Async @ 3020 / cuMemsetD2D32Async_ptsz @ 7000 => fill (
        dst_device: CUdeviceptr, dst_pitch: usize, ui: u32, width: usize, height: usize, stream: CUstream
    );
    cuMemsetD2D32_v2 @ 3020 / cuMemsetD2D32_v2_ptds @ 7000 => fill (
        dst_device: CUdeviceptr, dst_pitch: usize, ui: u32, width: usize, height: usize
    );
    cuMemsetD2D8Async @ 3020 / cuMemsetD2D8Async_ptsz @ 7000 => fill (
        dst_device: CUdeviceptr, dst_pitch: usize, uc: u8, width: usize, height: usize, stream: CUstream
    );
    cuMemsetD2D8_v2 @ 3020 / cuMemsetD2D8_v2_ptds @ 7000 => fill (
        dst_device: CUdeviceptr, dst_pitch: usize, uc: u8, width: usize, height: usize
    );
    cuMemsetD32Async @ 3020 / cuMemsetD32Async_ptsz @ 7000 => fill (
        dst_device: CUdeviceptr, ui: u32, n: usize, stream: CUstream
    );
    cuMemsetD32_v2 @ 3020 / cuMemsetD32_v2_ptds @ 7000 => fill (dst_device: CUdeviceptr, ui: u32, n: usize);
    cuMemsetD8Async @ 3020 / cuMemsetD8Async_ptsz @ 7000 => fill (
        dst_device: CUdeviceptr, uc: u8, n: usize, stream: CUstream
    );
    cuMemsetD8_v2 @ 3020 / cuMemsetD8_v2_ptds @ 7000 => fill (dst_device: CUdeviceptr, uc: u8, n: usize);
    cuPointerGetAttribute @ 4000 => pointer (data: *mut c_void, attribute: u32, ptr: CUdeviceptr);
    cuPointerGetAttributes @ 7000 => pointer (
        num_attributes: u32, attributes: In<u32>, data: In<*mut c_void>, ptr: CUdeviceptr
    );
    cuPointerSetAttribute @ 6000 => pointer (value: *const c_void, attribute: u32, ptr: CUdeviceptr);
}
