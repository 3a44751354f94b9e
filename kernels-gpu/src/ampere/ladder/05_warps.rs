//! Warp tiles: each warp has its own square of C, each thread 16 × 8 elements of it.
//!
//! A warp's reads of shared memory are those of its lanes together. With 16 lanes side by side a warp reads 2 × 64 rows
//! and 128 columns for its 32 · 64 elements of C. A square of 64 × 64 for 4 × 8 lanes reads 64 and 64 for twice as many.
//! Lanes are numbered in the order of a Z (lane and lane ^ 1 share rows, lane and lane ^ 2 columns), so that half the lanes
//! of a 16-byte load want the words of the other half: 2 wavefronts instead of 4. And with 16 × 8 elements a thread, 6
//! loads serve 128 multiply-adds.
//!
//! Measured: 43.9 TFLOP/s at 4096³ on an H200, 1.01 times the step before (`warpsmith bench ladder`,
//! `benches/results/h200-2026-11-21-ladder.md`).

use cuda_std::GpuFloat;
use cuda_std::async_copy::{cp_async_ca, cp_async_cg, cp_async_commit_group, cp_async_wait_group};
use cuda_std::prelude::*;
use tile::Four;

use crate::gemm::Gemm;

pub const BLOCK_M: usize = 128;
pub const BLOCK_N: usize = 256;
/// Elements along K that a stage holds.
pub const STEP: usize = 8;
const WARP: usize = 64;
const PITCH: usize = BLOCK_M + 4;
const STAGE_A: usize = STEP * PITCH;
const STAGE_B: usize = STEP * BLOCK_N;
/// Rows and columns of a thread.
const ROWS: usize = 16;
const COLS: usize = 8;

/// C = alpha · A · B + beta · C.
///
/// # Safety
/// `a`, `b` and `c` hold m × k, k × n and m × n elements and are aligned to 16 bytes; m, n and k are multiples of 128, 256
/// and 8; blocks have 256 threads.
#[kernel]
#[block_dim(256)]
pub unsafe fn matmul_warps(p: Gemm, a: *const f32, b: *const f32, c: *mut f32) {
    let tiles_a = cuda_std::shared_array![f32; 2 * STAGE_A];
    let tiles_b = cuda_std::shared_array![f32; 2 * STAGE_B];
    let thread = thread::thread_idx_x() as usize;
    let (n, k) = (p.n as usize, p.k as usize);
    let (block_row, block_col) =
        (thread::block_idx_y() as usize * BLOCK_M, thread::block_idx_x() as usize * BLOCK_N);
    let (lane, warp) = (thread % 32, thread / 32);
    let (x, y) = (2 * (lane / 8) + lane % 2, lane / 2 % 4);
    let (row, col) = (warp / 4 * WARP + 4 * y, warp % 4 * WARP + 4 * x);

    // SAFETY: extents and alignment as the contract gives them; the barriers part the copies from the loads.
    unsafe {
        let copy = |step: usize| {
            let (stage, first) = (step % 2, step * STEP);
            for i in 0..4 {
                cuda_std::unroll!(full);
                let (col, row) = (thread % STEP, thread / STEP + 32 * i);
                let to = tiles_a.add(stage * STAGE_A + col * PITCH + row);
                cp_async_ca(to, a.add((block_row + row) * k + first + col));
            }
            for i in 0..2 {
                cuda_std::unroll!(full);
                let (row, col) = (thread / 64 + 4 * i, thread % 64 * 4);
                let to = tiles_b.add(stage * STAGE_B + row * BLOCK_N + col).cast::<Four<f32>>();
                cp_async_cg(to, b.add((first + row) * n + block_col + col).cast::<Four<f32>>());
            }
        };
        let steps = k / STEP;
        let mut sums = [[0.0; COLS]; ROWS];
        if steps > 0 {
            copy(0);
        }
        cp_async_commit_group();
        for step in 0..steps {
            cuda_std::unroll!(none);
            if step + 1 < steps {
                copy(step + 1);
            }
            cp_async_commit_group();
            cp_async_wait_group::<1>();
            thread::sync_threads();
            let from_a = tiles_a.add(step % 2 * STAGE_A + row);
            let from_b = tiles_b.add(step % 2 * STAGE_B + col);
            for i in 0..STEP {
                cuda_std::unroll!(full);
                let four = |from: *const f32| (*from.cast::<Four<f32>>()).0;
                let rows: [[f32; 4]; ROWS / 4] = [0, 1, 2, 3].map(|r| four(from_a.add(i * PITCH + 16 * r)));
                let cols: [[f32; 4]; COLS / 4] = [0, 1].map(|c| four(from_b.add(i * BLOCK_N + 32 * c)));
                for r in 0..ROWS {
                    cuda_std::unroll!(full);
                    for c in 0..COLS {
                        cuda_std::unroll!(full);
                        sums[r][c] = GpuFloat::mul_add(rows[r / 4][r % 4], cols[c / 4][c % 4], sums[r][c]);
                    }
                }
            }
            thread::sync_threads();
        }
        for r in 0..ROWS {
            cuda_std::unroll!(full);
            for i in 0..COLS {
                cuda_std::unroll!(full);
                let (row, col) = (block_row + row + r / 4 * 16 + r % 4, block_col + col + i / 4 * 32 + i % 4);
                p.store(c, row, col, sums[r][i]);
            }
        }
    }
}
