//! What came after plain SIMT: asynchronous copies and barriers, matrix instructions, clusters, tensor maps.

mod asynchronous;
mod device;
mod gemm;
mod matrix;
mod nvcc;
mod tensor;
