//! Competitors of our kernels.

mod cublas;
mod cublaslt;
mod driver_copy;
mod nvcc;

use super::competitor::Candidate;

/// All competitors, found by what they do.
pub const CANDIDATES: [&Candidate; 4] =
    [&nvcc::CANDIDATE, &cublas::CANDIDATE, &cublaslt::CANDIDATE, &driver_copy::CANDIDATE];
