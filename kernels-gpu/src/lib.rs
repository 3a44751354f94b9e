//! The kernels, one file a family.
//!
//! Compiled twice: for the GPU by `host/build.rs`, and as an ordinary crate that gives the host each kernel's typed
//! description, the constants of its tiles, and the types that travel between host and device.
//!
//! The GPU's PTX is one module for each level of features, and each kernel stands in one of them, which `cfg` says: most in
//! the lowest, where `compute_80` is not yet a feature. The host's build has no such feature at all and sees every kernel.
#![no_std]

#[cfg(not(target_feature = "compute_80"))]
pub mod banks;
#[cfg(not(target_feature = "compute_80"))]
pub mod coalescing;
#[cfg(not(target_feature = "compute_80"))]
pub mod first;
#[cfg(any(not(target_os = "cuda"), target_feature = "compute_90a"))]
pub mod hopper;
#[cfg(not(target_feature = "compute_80"))]
pub mod latency;
#[cfg(not(target_feature = "compute_90"))]
pub mod matmul;
#[cfg(not(target_feature = "compute_80"))]
pub mod records;
#[cfg(not(target_feature = "compute_80"))]
pub mod spaces;
#[cfg(any(not(target_os = "cuda"), all(target_feature = "compute_80", not(target_feature = "compute_90"))))]
pub mod tensor;
#[cfg(any(not(target_feature = "compute_80"), target_feature = "compute_90a"))]
pub mod transpose;
// `warpsmith new` writes above this line.
