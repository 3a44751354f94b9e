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

listed! { matmul_vectors }

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
            multiply::<PITCH, BLOCK>(&mut sums, tile_a.add(4 * y), tile_b.add(4 * x));
            thread::sync_threads();
            first += STEP;
        }
        store(p, c, (block_row + 4 * y, block_col + 4 * x), &sums);
    }
}

/// Multiplies one stage: the thread's rows are at `a` and 64 on, its columns at `b` and 64 on, `PITCH_A` and `PITCH_B` words
/// from one k to the next.
#[inline(always)]
unsafe fn multiply<const PITCH_A: usize, const PITCH_B: usize>(
    sums: &mut [[f32; EDGE]; EDGE],
    a: *const f32,
    b: *const f32,
) {
    for k in 0..STEP {
        cuda_std::unroll!(full);
        // SAFETY: the caller's tiles are as long as the steps and aligned.
        let (from_a, from_b) = unsafe {
            let two =
                |from: *const f32| ((*from.cast::<Four<f32>>()).0, (*from.add(64).cast::<Four<f32>>()).0);
            (two(a.add(k * PITCH_A)), two(b.add(k * PITCH_B)))
        };
        for r in 0..EDGE {
            cuda_std::unroll!(full);
            for c in 0..EDGE {
                cuda_std::unroll!(full);
                let a = if r < 4 { from_a.0[r % 4] } else { from_a.1[r % 4] };
                let b = if c < 4 { from_b.0[c % 4] } else { from_b.1[c % 4] };
                sums[r][c] = GpuFloat::mul_add(a, b, sums[r][c]);
            }
        }
    }
}

/// Stores the sums of a thread whose first row and column are `first`.
#[inline(always)]
unsafe fn store(p: Gemm, c: *mut f32, first: (usize, usize), sums: &[[f32; EDGE]; EDGE]) {
    for r in 0..EDGE {
        cuda_std::unroll!(full);
        for col in 0..EDGE {
            cuda_std::unroll!(full);
            let (row, column) = (first.0 + r / 4 * 64 + r % 4, first.1 + col / 4 * 64 + col % 4);
            // SAFETY: the kernels' contract.
            unsafe { p.store(c, row, column, sums[r][col]) };
        }
    }
}
