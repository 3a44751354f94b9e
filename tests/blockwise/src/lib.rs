//! Kernels without the word `unsafe`, for the suite to compare with plain loops: one file an idea.
#![no_std]
#![forbid(unsafe_code)]

pub mod product;
pub mod transpose;
pub mod vecadd;
