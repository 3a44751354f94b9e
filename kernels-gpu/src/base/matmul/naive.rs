//! The starting point: each thread computes one element of C and reads all it needs from global memory.
//!
//! A multiply-add (2 operations) needs an element of A and one of B (8 bytes): one operation for each 4-byte access.
//! A device that moves 200 GB/s, 50 G floats a second, can therefore do no more than 50 GFLOP/s this way, however many
//! it could compute. Along a warp, x runs through columns: B's row is read contiguously (4 sectors), A's element is the
//! same for all lanes of a row (1 sector, broadcast).

use cuda_std::prelude::*;

use crate::gemm::Gemm;

listed! { matmul_naive }

/// The edge of the block: 16 × 16 threads.
pub const BLOCK_EDGE: u32 = 16;

/// C = alpha · A · B + beta · C, one thread for each element of C.
///
/// # Safety
/// `a`, `b` and `c` hold m × k, k × n and m × n elements.
#[kernel]
pub unsafe fn matmul_naive(p: Gemm, a: &[f32], b: &[f32], c: *mut f32) {
    let (row, col) = (thread::index_2d().y as usize, thread::index_2d().x as usize);
    let (m, n, k) = (p.m as usize, p.n as usize, p.k as usize);
    if row >= m || col >= n {
        return;
    }
    let mut sum = 0.0;
    for i in 0..k {
        // SAFETY: row < m, col < n and i < k, within what the contract gives.
        sum += unsafe { a.get_unchecked(row * k + i) * b.get_unchecked(i * n + col) };
    }
    // SAFETY: as the contract says.
    unsafe { p.store(c, row, col, sum) }
}
