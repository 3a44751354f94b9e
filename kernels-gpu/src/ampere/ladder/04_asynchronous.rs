//! Two buffers and asynchronous copies: the next tiles arrive while these are multiplied.
//!
//! Until here a block loads, waits, multiplies, waits. With two stages it starts the copies of one step and multiplies the
//! other: `cp.async` goes from global to shared memory without passing through registers, and a thread waits for its
//! copies where it needs them. A is turned on the way, 4 bytes at a time. Still two barriers a step: one that shows the
//! copies of all to all, one before a stage is filled again.
//!
//! Measured: 43.5 TFLOP/s at 4096³ on an H200, 1.07 times the step before (`warpsmith bench ladder`,
//! `benches/results/h200-2026-11-21-ladder.md`).

use cuda_std::GpuFloat;
use cuda_std::async_copy::{cp_async_ca, cp_async_cg, cp_async_commit_group, cp_async_wait_group};
use cuda_std::prelude::*;
use tile::Four;

use crate::gemm::Gemm;

listed! { matmul_asynchronous }

/// Rows and columns of C that a block computes.
pub const BLOCK: usize = 128;
/// Elements along K that a stage holds.
pub const STEP: usize = 8;
const PITCH: usize = BLOCK + 4;
const STAGE_A: usize = STEP * PITCH;
const STAGE_B: usize = STEP * BLOCK;
/// Rows and columns of a thread: twice four.
const EDGE: usize = 8;

/// C = alpha · A · B + beta · C.
///
/// # Safety
/// `a`, `b` and `c` hold m × k, k × n and m × n elements and are aligned to 16 bytes; m and n are multiples of 128, k of 8;
/// blocks have 256 threads.
#[kernel]
#[block_dim(256)]
pub unsafe fn matmul_asynchronous(p: Gemm, a: *const f32, b: *const f32, c: *mut f32) {
    let tiles_a = cuda_std::shared_array![f32; 2 * STAGE_A];
    let tiles_b = cuda_std::shared_array![f32; 2 * STAGE_B];
    let thread = thread::thread_idx_x() as usize;
    let (n, k) = (p.n as usize, p.k as usize);
    let (block_row, block_col) =
        (thread::block_idx_y() as usize * BLOCK, thread::block_idx_x() as usize * BLOCK);
    let (x, y) = (thread % 16, thread / 16);

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
            let (row, col) = (thread / 32, thread % 32 * 4);
            let to = tiles_b.add(stage * STAGE_B + row * BLOCK + col).cast::<Four<f32>>();
            cp_async_cg(to, b.add((first + row) * n + block_col + col).cast::<Four<f32>>());
        };
        let steps = k / STEP;
        let mut sums = [[0.0; EDGE]; EDGE];
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
            let (from_a, from_b) = (tiles_a.add(step % 2 * STAGE_A), tiles_b.add(step % 2 * STAGE_B));
            multiply(&mut sums, from_a.add(4 * y), from_b.add(4 * x));
            thread::sync_threads();
        }
        store(p, c, (block_row + 4 * y, block_col + 4 * x), &sums);
    }
}

/// Multiplies one stage: the thread's rows are at `a` and 64 on, its columns at `b` and 64 on.
#[inline(always)]
unsafe fn multiply(sums: &mut [[f32; EDGE]; EDGE], a: *const f32, b: *const f32) {
    for k in 0..STEP {
        cuda_std::unroll!(full);
        // SAFETY: the caller's tiles are as long as the steps and aligned.
        let (from_a, from_b) = unsafe {
            let two =
                |from: *const f32| ((*from.cast::<Four<f32>>()).0, (*from.add(64).cast::<Four<f32>>()).0);
            (two(a.add(k * PITCH)), two(b.add(k * BLOCK)))
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
