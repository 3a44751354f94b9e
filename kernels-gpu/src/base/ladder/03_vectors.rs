//! 16 bytes an instruction: a quarter of the loads.
//!
//! The same 8 × 8 elements a thread, but four neighbouring rows and columns at a time, so that one load fetches four numbers:
//! 4 loads for 64 multiply-adds. For the rows of A that wants its tile turned, k by k: a thread loads four elements along k
//! from global memory and stores each in another row. Four words of padding a row put the 32 stores of a warp (16 rows
//! of A, k and k + 4) into 32 banks: 4 · 132 = 16 mod 32.
//!
//! Measured: 40.5 TFLOP/s at 4096³ on an H200, 1.89 times the step before (`warpsmith bench ladder`,
//! `benches/results/h200-2026-11-21-ladder.md`).

use cuda_std::GpuFloat;
use cuda_std::prelude::*;
use tile::Four;

use crate::gemm::Gemm;

/// Rows and columns of C that a block computes.
pub const BLOCK: usize = 128;
/// Elements along K that are in shared memory at a time.
pub const STEP: usize = 8;
/// Words from one k to the next in A's tile.
const PITCH: usize = BLOCK + 4;
/// Rows and columns of a thread: twice four.
const EDGE: usize = 8;

/// C = alpha · A · B + beta · C.
///
/// # Safety
/// `a`, `b` and `c` hold m × k, k × n and m × n elements and are aligned to 16 bytes; m and n are multiples of 128, k of 8;
/// blocks have 256 threads.
#[kernel]
#[block_dim(256)]
pub unsafe fn matmul_vectors(p: Gemm, a: *const f32, b: *const f32, c: *mut f32) {
    let tile_a = cuda_std::shared_array![f32; STEP * PITCH];
    let tile_b = cuda_std::shared_array![f32; STEP * BLOCK];
    let thread = thread::thread_idx_x() as usize;
    let (n, k) = (p.n as usize, p.k as usize);
    let (block_row, block_col) =
        (thread::block_idx_y() as usize * BLOCK, thread::block_idx_x() as usize * BLOCK);
    let (x, y) = (thread % 16, thread / 16);

    // SAFETY: extents and alignment as the contract gives them; the two barriers of a phase part the stores from the loads.
    unsafe {
        let mut sums = [[0.0; EDGE]; EDGE];
        let mut first = 0;
        while first < k {
            let (row, col) = (thread / 2, thread % 2 * 4);
            let four = (*a.add((block_row + row) * k + first + col).cast::<Four<f32>>()).0;
            for i in 0..4 {
                *tile_a.add((col + i) * PITCH + row) = four[i];
            }
            let (row, col) = (thread / 32, thread % 32 * 4);
            *tile_b.add(row * BLOCK + col).cast::<Four<f32>>() =
                *b.add((first + row) * n + block_col + col).cast::<Four<f32>>();
            thread::sync_threads();
            let (from_a, from_b) = (tile_a.add(4 * y), tile_b.add(4 * x));
            for i in 0..STEP {
                cuda_std::unroll!(full);
                // Four rows, and the four that are 64 further; likewise columns.
                let eight = |from: *const f32| [0, 64].map(|apart| (*from.add(apart).cast::<Four<f32>>()).0);
                let (rows, cols) = (eight(from_a.add(i * PITCH)), eight(from_b.add(i * BLOCK)));
                for r in 0..EDGE {
                    cuda_std::unroll!(full);
                    for c in 0..EDGE {
                        cuda_std::unroll!(full);
                        sums[r][c] = GpuFloat::mul_add(rows[r / 4][r % 4], cols[c / 4][c % 4], sums[r][c]);
                    }
                }
            }
            thread::sync_threads();
            first += STEP;
        }
        let (row, col) = (block_row + 4 * y, block_col + 4 * x);
        for r in 0..EDGE {
            cuda_std::unroll!(full);
            for i in 0..EDGE {
                cuda_std::unroll!(full);
                p.store(c, row + r / 4 * 64 + r % 4, col + i / 4 * 64 + i % 4, sums[r][i]);
            }
        }
    }
}
