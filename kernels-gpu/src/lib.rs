//! The kernels, one file a family.
//!
//! Compiled twice: for the GPU by `host/build.rs`, and as an ordinary crate that gives the host each kernel's typed
//! description, the constants of its tiles, and the types that travel between host and device.
#![no_std]

pub mod banks;
pub mod coalescing;
pub mod first;
pub mod latency;
pub mod matmul;
pub mod spaces;
pub mod tensor;
pub mod transpose;
// `warpsmith new` writes above this line.
