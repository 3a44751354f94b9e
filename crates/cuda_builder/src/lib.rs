//! Compiles a crate of Rust kernels to PTX with the stock stable compiler.
