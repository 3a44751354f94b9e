//! Device standard library for kernels in Rust, with the names and signatures of upstream Rust-CUDA.
#![no_std]
