//! Stands in for the published crate of this name, which `cust_raw`'s build script asks where CUDA is.
//!
//! Nothing is linked here: `crates/cuda_driver` defines the driver's entry points and finds the real
//! `libcuda.so.1`, if there is one, when the program runs.

/// Tells cargo nothing about CUDA, so that linking needs none.
pub fn include_cuda() {
    println!("cargo:rerun-if-changed=build.rs");
}
