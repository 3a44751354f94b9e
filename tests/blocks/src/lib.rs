//! Kernels that use one building block of `tile` each, for the suite to compare with plain loops.
#![no_std]
#![allow(missing_docs)]

#[cfg(any(not(target_os = "cuda"), target_feature = "compute_90a"))]
pub mod attention;
#[cfg(any(not(target_os = "cuda"), target_feature = "compute_90a"))]
pub mod boxes;
#[cfg(any(not(target_os = "cuda"), target_feature = "compute_90a"))]
pub mod examples;
#[cfg(any(not(target_os = "cuda"), target_feature = "compute_90a"))]
pub mod matrices;
#[cfg(any(not(target_os = "cuda"), target_feature = "compute_90a"))]
pub mod products;
#[cfg(any(not(target_os = "cuda"), target_feature = "compute_90a"))]
pub mod roles;

pub mod mathematics;
pub mod own;
pub mod tensor;
pub mod tiles;
