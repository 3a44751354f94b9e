//! Parameter structures of the entry points that the virtual device serves, laid out as in `cuda.h`.
#![allow(non_snake_case, missing_docs)]

use std::ffi::c_void;

use super::{CUcontext, CUdeviceptr, CUfunction, CUhostFn, CUkernel, CUstream, Handle};

/// A universally unique identifier.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUuuid {
    pub bytes: [u8; 16],
}

/// The properties of CUDA 1's `cuDeviceGetProperties`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUdevprop {
    pub maxThreadsPerBlock: i32,
    pub maxThreadsDim: [i32; 3],
    pub maxGridSize: [i32; 3],
    pub sharedMemPerBlock: i32,
    pub totalConstantMemory: i32,
    pub SIMDWidth: i32,
    pub memPitch: i32,
    pub regsPerBlock: i32,
    pub clockRate: i32,
    pub textureAlign: i32,
}

/// A 1-D or 2-D array.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUDA_ARRAY_DESCRIPTOR {
    pub Width: usize,
    pub Height: usize,
    pub Format: u32,
    pub NumChannels: u32,
}

/// An array of any kind.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUDA_ARRAY3D_DESCRIPTOR {
    pub Width: usize,
    pub Height: usize,
    pub Depth: usize,
    pub Format: u32,
    pub NumChannels: u32,
    pub Flags: u32,
}

/// A rectangle to copy.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUDA_MEMCPY2D {
    pub srcXInBytes: usize,
    pub srcY: usize,
    pub srcMemoryType: u32,
    pub srcHost: *const c_void,
    pub srcDevice: CUdeviceptr,
    pub srcArray: Handle,
    pub srcPitch: usize,
    pub dstXInBytes: usize,
    pub dstY: usize,
    pub dstMemoryType: u32,
    pub dstHost: *mut c_void,
    pub dstDevice: CUdeviceptr,
    pub dstArray: Handle,
    pub dstPitch: usize,
    pub WidthInBytes: usize,
    pub Height: usize,
}

/// A box to copy.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUDA_MEMCPY3D {
    pub srcXInBytes: usize,
    pub srcY: usize,
    pub srcZ: usize,
    pub srcLOD: usize,
    pub srcMemoryType: u32,
    pub srcHost: *const c_void,
    pub srcDevice: CUdeviceptr,
    pub srcArray: Handle,
    pub reserved0: *mut c_void,
    pub srcPitch: usize,
    pub srcHeight: usize,
    pub dstXInBytes: usize,
    pub dstY: usize,
    pub dstZ: usize,
    pub dstLOD: usize,
    pub dstMemoryType: u32,
    pub dstHost: *mut c_void,
    pub dstDevice: CUdeviceptr,
    pub dstArray: Handle,
    pub reserved1: *mut c_void,
    pub dstPitch: usize,
    pub dstHeight: usize,
    pub WidthInBytes: usize,
    pub Height: usize,
    pub Depth: usize,
}

/// A box to copy between contexts, whose handles take the places that `CUDA_MEMCPY3D` reserves.
pub type CUDA_MEMCPY3D_PEER = CUDA_MEMCPY3D;

/// How a copy of a batch may read its source, and where its sides lie.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUmemcpyAttributes {
    pub srcAccessOrder: u32,
    pub srcLocHint: CUmemLocation,
    pub dstLocHint: CUmemLocation,
    pub flags: u32,
}

/// A kernel launch as a graph keeps it (CUDA 10 and 11).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUDA_KERNEL_NODE_PARAMS_v1 {
    pub func: CUfunction,
    pub gridDim: [u32; 3],
    pub blockDim: [u32; 3],
    pub sharedMemBytes: u32,
    pub kernelParams: *mut *mut c_void,
    pub extra: *mut *mut c_void,
}

/// A kernel launch as a graph keeps it (CUDA 12).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUDA_KERNEL_NODE_PARAMS {
    pub v1: CUDA_KERNEL_NODE_PARAMS_v1,
    pub kern: CUkernel,
    pub ctx: CUcontext,
}

/// A fill as a graph keeps it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUDA_MEMSET_NODE_PARAMS {
    pub dst: CUdeviceptr,
    pub pitch: usize,
    pub value: u32,
    pub elementSize: u32,
    pub width: usize,
    pub height: usize,
}

/// A host call as a graph keeps it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUDA_HOST_NODE_PARAMS {
    pub r#fn: CUhostFn,
    pub userData: *mut c_void,
}

/// How to instantiate a graph.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUDA_GRAPH_INSTANTIATE_PARAMS {
    pub flags: u64,
    pub hUploadStream: CUstream,
    pub hErrNode_out: Handle,
    pub result_out: u32,
}

/// One attribute of a launch.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUlaunchAttribute {
    pub id: u32,
    pub pad: u32,
    /// A union of 64 bytes; scalars and dimensions lie in its first words.
    pub value: [u64; 8],
}

/// The shape and the attributes of a launch.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUlaunchConfig {
    pub gridDim: [u32; 3],
    pub blockDim: [u32; 3],
    pub sharedMemBytes: u32,
    pub hStream: CUstream,
    pub attrs: *mut CUlaunchAttribute,
    pub numAttrs: u32,
}

/// Where memory lies.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUmemLocation {
    pub r#type: u32,
    pub id: i32,
}

/// Who may access memory, and how.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUmemAccessDesc {
    pub location: CUmemLocation,
    pub flags: u32,
}

/// What a memory pool is made of.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUmemPoolProps {
    pub allocType: u32,
    pub handleTypes: u32,
    pub location: CUmemLocation,
    pub win32SecurityAttributes: *mut c_void,
    pub maxSize: usize,
    pub usage: u16,
    pub gpuDirectRDMACapable: u8,
    pub reserved: [u8; 53],
}

/// Memory that a node of a graph allocates.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUDA_MEM_ALLOC_NODE_PARAMS {
    pub poolProps: CUmemPoolProps,
    pub accessDescs: *const CUmemAccessDesc,
    pub accessDescCount: usize,
    pub bytesize: usize,
    pub dptr: CUdeviceptr,
}

/// An inter-process handle, passed by value.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct IpcHandle {
    pub reserved: [u8; 64],
}

/// A tensor map: 128 bytes that only the device reads.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
pub struct CUtensorMap {
    pub opaque: [u64; 16],
}

/// What a texture or surface reads: an array, or memory. The fields after the type depend on it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUDA_RESOURCE_DESC {
    pub resType: u32,
    pub res: [u64; 16],
    pub flags: u32,
}

/// How a texture is read.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUDA_TEXTURE_DESC {
    pub addressMode: [u32; 3],
    pub filterMode: u32,
    pub flags: u32,
    pub maxAnisotropy: u32,
    pub mipmapFilterMode: u32,
    pub mipmapLevelBias: f32,
    pub minMipmapLevelClamp: f32,
    pub maxMipmapLevelClamp: f32,
    pub borderColor: [f32; 4],
    pub reserved: [i32; 12],
}

/// A part of a texture's resource.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUDA_RESOURCE_VIEW_DESC {
    pub format: u32,
    pub width: usize,
    pub height: usize,
    pub depth: usize,
    pub firstMipmapLevel: u32,
    pub lastMipmapLevel: u32,
    pub firstLayer: u32,
    pub lastLayer: u32,
    pub reserved: [u32; 16],
}

/// What a multicast object is for.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUmulticastObjectProp {
    pub numDevices: u32,
    pub size: usize,
    pub handleTypes: u64,
    pub flags: u64,
}

/// What physical memory is made of.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUmemAllocationProp {
    pub r#type: u32,
    pub requestedHandleTypes: u32,
    pub location: CUmemLocation,
    pub win32HandleMetaData: *mut c_void,
    pub compressionType: u8,
    pub gpuDirectRDMACapable: u8,
    pub usage: u16,
    pub reserved: [u8; 4],
}
