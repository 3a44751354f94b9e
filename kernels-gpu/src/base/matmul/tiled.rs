//! Tiling: a block loads a tile of A and a tile of B into shared memory, and each loaded element serves a whole row or
//! column of threads. With edge T every element is loaded from global memory T times less often.
//!
//! A phase is: load both tiles, wait, multiply, wait. K / T phases walk A's tile to the right and B's downwards.
//! - Without the first barrier, threads would read elements that others have not yet stored.
//! - Without the second, a fast warp would overwrite a tile that a slow one still reads.
//!
//! In shared memory, x runs along a row: 32 lanes store 32 consecutive words, one wavefront. In the product, B's row is
//! read the same way, and A's element is the same word for the lanes of a row, a broadcast.

use cuda_std::prelude::*;
use tile::{Layout, Plain, SharedTile, View, shared_tile};

use crate::gemm::Gemm;

listed! { matmul_tiled_16 matmul_tiled_16_safe matmul_tiled_32 }

/// C = alpha · A · B + beta · C in 16 × 16 tiles, static shared memory (2 KiB a block).
///
/// # Safety
/// `a`, `b` and `c` hold m × k, k × n and m × n elements; blocks are 16 × 16.
#[kernel]
#[block_dim(16, 16)]
pub unsafe fn matmul_tiled_16(p: Gemm, a: &[f32], b: &[f32], c: *mut f32) {
    let tile_a = shared_tile![f32; 16, 16; Plain];
    let tile_b = shared_tile![f32; 16, 16; Plain];
    // SAFETY: as the contract says.
    unsafe { multiply(p, p.operands(a, b), c, tile_a, tile_b) }
}

/// C = alpha · A · B + beta · C in 32 × 32 tiles, static shared memory (8 KiB a block).
///
/// # Safety
/// `a`, `b` and `c` hold m × k, k × n and m × n elements; blocks are 32 × 32.
#[kernel]
#[block_dim(32, 32)]
pub unsafe fn matmul_tiled_32(p: Gemm, a: &[f32], b: &[f32], c: *mut f32) {
    let tile_a = shared_tile![f32; 32, 32; Plain];
    let tile_b = shared_tile![f32; 32, 32; Plain];
    // SAFETY: as the contract says.
    unsafe { multiply(p, p.operands(a, b), c, tile_a, tile_b) }
}

/// The same as [`matmul_tiled_16`](fn@matmul_tiled_16) in safe slices: that they are long enough for their matrices is tested once, before
/// the loop, and what the loop reads lies inside of the matrices by the test that the edges need anyway.
///
/// # Safety
/// `c` holds m × n elements; blocks are 16 × 16. A slice that is too short for its matrix ends in a panic.
#[kernel]
#[block_dim(16, 16)]
pub unsafe fn matmul_tiled_16_safe(p: Gemm, a: &[f32], b: &[f32], c: *mut f32) {
    let tile_a = shared_tile![f32; 16, 16; Plain];
    let tile_b = shared_tile![f32; 16, 16; Plain];
    let (m, n, k) = (p.m as usize, p.n as usize, p.k as usize);
    let operands = (View::checked(a, m, k), View::checked(b, k, n));
    // SAFETY: as the contract says.
    unsafe { multiply(p, operands, c, tile_a, tile_b) }
}

/// The body of every product in tiles of fixed extents; the layout of the tiles decides its bank conflicts.
///
/// # Safety
/// As for the kernels; blocks are EDGE × EDGE.
#[inline(always)]
pub(super) unsafe fn multiply<const EDGE: usize, L: Layout<EDGE, EDGE>>(
    p: Gemm,
    operands: (View<f32>, View<f32>),
    c: *mut f32,
    tile_a: SharedTile<f32, EDGE, EDGE, L>,
    tile_b: SharedTile<f32, EDGE, EDGE, L>,
) {
    // SAFETY: every tile access is inside EDGE × EDGE; the phases put barriers between stores and loads.
    unsafe {
        let store = |x, y, from_a, from_b| {
            tile_a.set(y, x, from_a);
            tile_b.set(y, x, from_b);
        };
        let add = |mut sum: f32, x, y| {
            for i in 0..EDGE {
                sum += tile_a.get(y, i) * tile_b.get(i, x);
            }
            sum
        };
        phases(p, EDGE, operands, c, store, add);
    }
}

/// The phases of a tiled product: `store` puts an element of A and one of B at column x and row y of the tiles, `add` adds to
/// a sum the products of row y and column x.
///
/// # Safety
/// The operands are m × k and k × n, and `c` holds m × n elements; blocks are `edge` × `edge`.
#[inline(always)]
pub(super) unsafe fn phases(
    p: Gemm,
    edge: usize,
    (a, b): (View<f32>, View<f32>),
    c: *mut f32,
    store: impl Fn(usize, usize, f32, f32),
    add: impl Fn(f32, usize, usize) -> f32,
) {
    let (x, y) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let row = thread::block_idx_y() as usize * edge + y;
    let col = thread::block_idx_x() as usize * edge + x;
    let k = p.k as usize;

    // SAFETY: the contract gives the extents, and the two barriers of a phase part the stores from the loads.
    unsafe {
        let mut sum = 0.0;
        let mut first = 0;
        while first < k {
            // A zero beyond an edge adds nothing to the sum, so every thread may stay in step with the barriers.
            store(x, y, a.get_or(row, first + x, 0.0), b.get_or(first + y, col, 0.0));
            thread::sync_threads();
            sum = add(sum, x, y);
            thread::sync_threads();
            first += edge;
        }
        p.store(c, row, col, sum);
    }
}
