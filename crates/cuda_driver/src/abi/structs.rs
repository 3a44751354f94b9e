//! Parameter structures of the entry points that the virtual device supports, laid out as in `cuda.h`.
#![allow(non_snake_case, missing_docs)]

use std::ffi::c_void;

use super::{CUcontext, CUdeviceptr, CUfunction, CUhostFn, CUkernel, CUstream, Handle};

macro_rules! structs {
    ($($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty),* $(,)? })*) => {$(
        $(#[$meta])*
        #[repr(C)]
        #[derive(Clone, Copy)]
        pub struct $name { $($(#[$field_meta])* pub $field: $type),* }
    )*};
}

structs! {
    /// A universally unique identifier.
    CUuuid { bytes: [u8; 16] }
    /// The properties of CUDA 1's `cuDeviceGetProperties`.
    CUdevprop {
        maxThreadsPerBlock: i32, maxThreadsDim: [i32; 3], maxGridSize: [i32; 3], sharedMemPerBlock: i32,
        totalConstantMemory: i32, SIMDWidth: i32, memPitch: i32, regsPerBlock: i32, clockRate: i32,
        textureAlign: i32,
    }
    /// A 1-D or 2-D array.
    CUDA_ARRAY_DESCRIPTOR { Width: usize, Height: usize, Format: u32, NumChannels: u32 }
    /// An array of any kind.
    CUDA_ARRAY3D_DESCRIPTOR {
        Width: usize, Height: usize, Depth: usize, Format: u32, NumChannels: u32, Flags: u32,
    }
    /// A rectangle to copy.
    CUDA_MEMCPY2D {
        srcXInBytes: usize, srcY: usize, srcMemoryType: u32, srcHost: *const c_void, srcDevice: CUdeviceptr,
        srcArray: Handle, srcPitch: usize, dstXInBytes: usize, dstY: usize, dstMemoryType: u32,
        dstHost: *mut c_void, dstDevice: CUdeviceptr, dstArray: Handle, dstPitch: usize, WidthInBytes: usize,
        Height: usize,
    }
    /// A box to copy.
    CUDA_MEMCPY3D {
        srcXInBytes: usize, srcY: usize, srcZ: usize, srcLOD: usize, srcMemoryType: u32,
        srcHost: *const c_void, srcDevice: CUdeviceptr, srcArray: Handle, reserved0: *mut c_void,
        srcPitch: usize, srcHeight: usize, dstXInBytes: usize, dstY: usize, dstZ: usize, dstLOD: usize,
        dstMemoryType: u32, dstHost: *mut c_void, dstDevice: CUdeviceptr, dstArray: Handle,
        reserved1: *mut c_void, dstPitch: usize, dstHeight: usize, WidthInBytes: usize, Height: usize,
        Depth: usize,
    }
    /// How a copy in a batch may read its source, and where its two sides are.
    CUmemcpyAttributes {
        srcAccessOrder: u32, srcLocHint: CUmemLocation, dstLocHint: CUmemLocation, flags: u32,
    }
    /// A kernel launch in a graph (CUDA 10 and 11).
    CUDA_KERNEL_NODE_PARAMS_v1 {
        func: CUfunction, gridDim: [u32; 3], blockDim: [u32; 3], sharedMemBytes: u32,
        kernelParams: *mut *mut c_void, extra: *mut *mut c_void,
    }
    /// A kernel launch in a graph (CUDA 12).
    CUDA_KERNEL_NODE_PARAMS { v1: CUDA_KERNEL_NODE_PARAMS_v1, kern: CUkernel, ctx: CUcontext }
    /// A fill in a graph.
    CUDA_MEMSET_NODE_PARAMS {
        dst: CUdeviceptr, pitch: usize, value: u32, elementSize: u32, width: usize, height: usize,
    }
    /// A host call in a graph.
    CUDA_HOST_NODE_PARAMS { r#fn: CUhostFn, userData: *mut c_void }
    /// How to instantiate a graph.
    CUDA_GRAPH_INSTANTIATE_PARAMS {
        flags: u64, hUploadStream: CUstream, hErrNode_out: Handle, result_out: u32,
    }
    /// One attribute of a launch.
    CUlaunchAttribute {
        id: u32, pad: u32,
        /// A union of 64 bytes; scalars and dimensions are in its first words.
        value: [u64; 8],
    }
    /// The shape and the attributes of a launch.
    CUlaunchConfig {
        gridDim: [u32; 3], blockDim: [u32; 3], sharedMemBytes: u32, hStream: CUstream,
        attrs: *mut CUlaunchAttribute, numAttrs: u32,
    }
    /// Where memory lies.
    CUmemLocation { r#type: u32, id: i32 }
    /// Who may access memory, and how.
    CUmemAccessDesc { location: CUmemLocation, flags: u32 }
    /// The properties of a memory pool.
    CUmemPoolProps {
        allocType: u32, handleTypes: u32, location: CUmemLocation, win32SecurityAttributes: *mut c_void,
        maxSize: usize, usage: u16, gpuDirectRDMACapable: u8, reserved: [u8; 53],
    }
    /// Memory allocated by a graph node.
    CUDA_MEM_ALLOC_NODE_PARAMS {
        poolProps: CUmemPoolProps, accessDescs: *const CUmemAccessDesc, accessDescCount: usize,
        bytesize: usize, dptr: CUdeviceptr,
    }
    /// An inter-process handle, passed by value.
    IpcHandle { reserved: [u8; 64] }
    /// The resource of a texture or surface: an array, or memory. The fields after the type depend on it.
    CUDA_RESOURCE_DESC { resType: u32, res: [u64; 16], flags: u32 }
    /// How a texture is read.
    CUDA_TEXTURE_DESC {
        addressMode: [u32; 3], filterMode: u32, flags: u32, maxAnisotropy: u32, mipmapFilterMode: u32,
        mipmapLevelBias: f32, minMipmapLevelClamp: f32, maxMipmapLevelClamp: f32, borderColor: [f32; 4],
        reserved: [i32; 12],
    }
    /// A part of a texture's resource.
    CUDA_RESOURCE_VIEW_DESC {
        format: u32, width: usize, height: usize, depth: usize, firstMipmapLevel: u32, lastMipmapLevel: u32,
        firstLayer: u32, lastLayer: u32, reserved: [u32; 16],
    }
    /// The properties of a multicast object.
    CUmulticastObjectProp { numDevices: u32, size: usize, handleTypes: u64, flags: u64 }
    /// The properties of physical memory.
    CUmemAllocationProp {
        r#type: u32, requestedHandleTypes: u32, location: CUmemLocation, win32HandleMetaData: *mut c_void,
        compressionType: u8, gpuDirectRDMACapable: u8, usage: u16, reserved: [u8; 4],
    }
}

/// A box to copy between contexts, whose handles are in the fields that `CUDA_MEMCPY3D` reserves.
pub type CUDA_MEMCPY3D_PEER = CUDA_MEMCPY3D;

/// A tensor map: 128 bytes that only the device reads.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
pub struct CUtensorMap {
    pub opaque: [u64; 16],
}
