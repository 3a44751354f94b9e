//! The kernels, one file a family.
//!
//! Compiled twice: for the GPU by `host/build.rs`, and as an ordinary crate that gives the host each kernel's typed
//! description, the constants of its tiles, and the types that travel between host and device.
#![no_std]

pub mod banks;
pub mod coalescing;
pub mod first;
#[cfg(any(not(target_os = "cuda"), target_feature = "compute_90a"))]
pub mod hopper;
pub mod latency;
pub mod matmul;
pub mod records;
pub mod spaces;
pub mod tensor;
pub mod transpose;
// `warpsmith new` writes above this line.
