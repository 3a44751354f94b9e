//! Tiles in dynamic shared memory: the host chooses their edge at launch, from what the device has.
//!
//! There is one dynamic allocation a block. Two arrays in it are two offsets into it: two "arrays" that both began at
//! its start would be one and the same. Above 48 KiB a block the launch must opt in.

use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;
use tile::{DynamicTile, View};

use super::Gemm;

/// Bytes of dynamic shared memory that a launch with tiles of `edge`, each row or column padded by `pad`, needs.
pub const fn shared_bytes(edge: u32, pad: u32) -> u32 {
    2 * edge * (edge + pad) * size_of::<f32>() as u32
}

/// C = alpha · A · B + beta · C in tiles of any edge.
///
/// # Safety
/// `a`, `b` and `c` hold m × k, k × n and m × n elements; blocks are edge × edge, with
/// [`shared_bytes`]`(edge, 0)` of dynamic shared memory.
#[kernel]
pub unsafe fn matmul_dynamic(p: Gemm, edge: u32, a: &[f32], b: &[f32], c: *mut f32) {
    let edge = edge as usize;
    // SAFETY: as the contract says; the second tile begins where the first ends.
    unsafe {
        let tile_a = DynamicTile::new(dynamic_shared_mem::<f32>(), edge, 1);
        let tile_b = DynamicTile::new(dynamic_shared_mem::<f32>().add(edge * edge), edge, 1);
        multiply(p, edge, a, b, c, tile_a, tile_b)
    }
}

/// [`matmul_dynamic`](fn@matmul_dynamic) with its tiles stored column by column, `pad` unused elements after each column.
///
/// # Safety
/// As for [`matmul_dynamic`](fn@matmul_dynamic), with [`shared_bytes`]`(edge, pad)` of dynamic shared memory.
#[kernel]
pub unsafe fn matmul_dynamic_column(p: Gemm, edge: u32, pad: u32, a: &[f32], b: &[f32], c: *mut f32) {
    let (edge, pitch) = (edge as usize, (edge + pad) as usize);
    // SAFETY: as the contract says; the second tile begins where the first ends.
    unsafe {
        let tile_a = DynamicTile::new(dynamic_shared_mem::<f32>(), 1, pitch);
        let tile_b = DynamicTile::new(dynamic_shared_mem::<f32>().add(edge * pitch), 1, pitch);
        multiply(p, edge, a, b, c, tile_a, tile_b)
    }
}

/// The phases of [`tiled`](super::tiled), with an edge that the compiler does not know.
#[inline(always)]
unsafe fn multiply(
    p: Gemm,
    edge: usize,
    a: &[f32],
    b: &[f32],
    c: *mut f32,
    tile_a: DynamicTile<f32>,
    tile_b: DynamicTile<f32>,
) {
    let (x, y) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let row = thread::block_idx_y() as usize * edge + y;
    let col = thread::block_idx_x() as usize * edge + x;
    let (m, n, k) = (p.m as usize, p.n as usize, p.k as usize);

    // SAFETY: extents as the contract gives them; every tile access is inside edge × edge, and the two barriers
    // of a phase part the stores from the loads.
    unsafe {
        let (a, b) = (View::new(a, m, k), View::new(b, k, n));
        let mut sum = 0.0;
        let mut first = 0;
        while first < k {
            tile_a.set(y, x, a.get_or(row, first + x, 0.0));
            tile_b.set(y, x, b.get_or(first + y, col, 0.0));
            thread::sync_threads();
            for i in 0..edge {
                sum += tile_a.get(y, i) * tile_b.get(i, x);
            }
            thread::sync_threads();
            first += edge;
        }
        p.store(c, row, col, sum);
    }
}
