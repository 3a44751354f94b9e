//! One thread, 8 × 8 elements: both operands serve eight times.
//!
//! With a square in registers a thread loads 8 elements of A and 8 of B for 64 multiply-adds: one load for four, where a
//! column had 9 for 8. The loads are no longer the limit; their number still is, for each moves 4 bytes.
//!
//! A block of 256 threads computes 128 × 128 elements. A thread's rows and columns are 16 apart, so that the lanes of a warp
//! read neighbouring words of B, and of A two words in different banks.
//!
//! Measured: 21.5 TFLOP/s at 4096³ on an H200, 1.25 times the step before (`warpsmith bench ladder`,
//! `benches/results/h200-2026-11-21-ladder.md`).

use cuda_std::GpuFloat;
use cuda_std::prelude::*;
use tile::{Plain, shared_tile};

use crate::gemm::Gemm;

/// Rows and columns of C that a block computes.
pub const BLOCK: usize = 128;
/// Elements along K that are in shared memory at a time.
pub const STEP: usize = 8;
/// Rows and columns of a thread, and what lies between one and the next.
const EDGE: usize = 8;
const APART: usize = BLOCK / EDGE;

/// C = alpha · A · B + beta · C.
///
/// # Safety
/// `a`, `b` and `c` hold m × k, k × n and m × n elements; m and n are multiples of 128, k of 8; blocks have 256 threads.
#[kernel]
#[block_dim(256)]
pub unsafe fn matmul_registers_2d(p: Gemm, a: *const f32, b: *const f32, c: *mut f32) {
    let tile_a = shared_tile![f32; 128, 8; Plain];
    let tile_b = shared_tile![f32; 8, 128; Plain];
    let thread = thread::thread_idx_x() as usize;
    let (n, k) = (p.n as usize, p.k as usize);
    let (block_row, block_col) =
        (thread::block_idx_y() as usize * BLOCK, thread::block_idx_x() as usize * BLOCK);
    let (x, y) = (thread % APART, thread / APART);

    // SAFETY: extents as the contract gives them; the two barriers of a phase part the stores from the loads.
    unsafe {
        let mut sums = [[0.0; EDGE]; EDGE];
        let mut first = 0;
        while first < k {
            for i in 0..4 {
                let (row, col) = (thread / STEP + 32 * i, thread % STEP);
                tile_a.set(row, col, *a.add((block_row + row) * k + first + col));
                let (row, col) = (thread / BLOCK + 2 * i, thread % BLOCK);
                tile_b.set(row, col, *b.add((first + row) * n + block_col + col));
            }
            thread::sync_threads();
            for i in 0..STEP {
                let from_a: [f32; EDGE] = core::array::from_fn(|r| tile_a.get(y + APART * r, i));
                let from_b: [f32; EDGE] = core::array::from_fn(|c| tile_b.get(i, x + APART * c));
                for r in 0..EDGE {
                    for c in 0..EDGE {
                        sums[r][c] = GpuFloat::mul_add(from_a[r], from_b[c], sums[r][c]);
                    }
                }
            }
            thread::sync_threads();
            first += STEP;
        }
        for r in 0..EDGE {
            for col in 0..EDGE {
                p.store(c, block_row + y + APART * r, block_col + x + APART * col, sums[r][col]);
            }
        }
    }
}
