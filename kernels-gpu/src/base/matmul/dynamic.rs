//! Tiles in dynamic shared memory: the host chooses their edge at launch, from what the device has.
//!
//! There is one dynamic allocation a block. Two arrays in it are two offsets into it: two "arrays" that both began at
//! its start would be one and the same. Above 48 KiB a block the launch must opt in.

use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;
use tile::{DynamicTile, View};

use super::tiled::phases;
use crate::gemm::Gemm;

listed! { matmul_dynamic matmul_dynamic_column }

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
        let add = |mut sum: f32, x, y| {
            let mut down = tile_b.down(x);
            for i in 0..edge {
                cuda_std::unroll!(16);
                sum += tile_a.get(y, i) * down.read();
            }
            sum
        };
        multiply(p, edge, p.operands(a, b), c, tile_a, tile_b, add)
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
        let add = |mut sum: f32, x, y| {
            let mut along = tile_a.along(y);
            for i in 0..edge {
                cuda_std::unroll!(16);
                sum += along.read() * tile_b.get(i, x);
            }
            sum
        };
        multiply(p, edge, p.operands(a, b), c, tile_a, tile_b, add)
    }
}

/// The [`phases`] of a tiled product, with an edge that the compiler does not know; `add` adds the products of a row of A's
/// tile and a column of B's.
#[inline(always)]
unsafe fn multiply(
    p: Gemm,
    edge: usize,
    operands: (View<f32>, View<f32>),
    c: *mut f32,
    tile_a: DynamicTile<f32>,
    tile_b: DynamicTile<f32>,
    add: impl Fn(f32, usize, usize) -> f32,
) {
    // SAFETY: every tile access is inside edge × edge; the phases put barriers between stores and loads.
    unsafe {
        let store = |x, y, from_a, from_b| {
            tile_a.set(y, x, from_a);
            tile_b.set(y, x, from_b);
        };
        phases(p, edge, operands, c, store, add);
    }
}
