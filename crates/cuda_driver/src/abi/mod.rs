//! The driver's binary interface: result codes, handles, parameter structures, and what crosses as a pointer.
//!
//! Names are those of `cuda.h`, so that a reader finds them in the driver API's manual.
#![allow(non_camel_case_types, missing_docs)]

pub mod numbers;
pub mod pointers;
pub mod result;
pub mod structs;

pub use numbers::*;
pub use pointers::{In, Out, Text};
pub use result::{Answer, CUresult};
pub use structs::*;

/// A driver object as its user sees it: opaque, and never dereferenced here.
pub type Handle = usize;
pub type CUcontext = Handle;
pub type CUmodule = Handle;
/// A kernel of a loaded module (entry points that take one also take a [`CUkernel`]).
pub type CUfunction = Handle;
/// A library: a module that is loaded into each context when it is first needed there.
pub type CUlibrary = Handle;
/// A kernel of a library.
pub type CUkernel = Handle;
/// A stream; 0 and 1 are the legacy default stream, 2 the calling thread's own.
pub type CUstream = Handle;
pub type CUevent = Handle;
pub type CUgraph = Handle;
pub type CUgraphNode = Handle;
/// An instantiated graph.
pub type CUgraphExec = Handle;
/// A pool for stream-ordered allocations.
pub type CUmemoryPool = Handle;
pub type CUlinkState = Handle;
/// A device, by ordinal.
pub type CUdevice = i32;
pub type CUdeviceptr = u64;
/// A device address in the 32-bit interface of CUDA 2.
pub type CUdeviceptr_v1 = u32;

/// A host function that a stream calls.
pub type CUhostFn = Option<unsafe extern "C" fn(*mut std::ffi::c_void)>;
/// A host function that a stream calls with its handle and status.
pub type CUstreamCallback = Option<unsafe extern "C" fn(CUstream, CUresult, *mut std::ffi::c_void)>;
/// Dynamic shared memory as a function of the block size.
pub type CUoccupancyB2DSize = Option<unsafe extern "C" fn(i32) -> usize>;
