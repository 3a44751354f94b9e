//! Two arrays in dynamic shared memory are taken to be two places. Both begin where the one allocation begins.

use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;
use tile::{DynamicTile, View, ViewMut};

use crate::{EDGE, place};

/// C = A · B, wrong: B's tile is stored over A's.
///
/// # Safety
/// `a`, `b` and `c` hold n × n elements; blocks are 16 × 16, with 2,048 bytes of dynamic shared memory.
#[kernel]
pub unsafe fn two_arrays_before(n: u32, a: &[f32], b: &[f32], c: *mut f32) {
    // SAFETY: none that holds: that is the mistake.
    unsafe {
        let tile_a = DynamicTile::new(dynamic_shared_mem::<f32>(), EDGE, 1);
        let tile_b = DynamicTile::new(dynamic_shared_mem::<f32>(), EDGE, 1);
        multiply(n, a, b, c, tile_a, tile_b)
    }
}

/// C = A · B: one allocation, the second tile begins where the first ends.
///
/// # Safety
/// `a`, `b` and `c` hold n × n elements; blocks are 16 × 16, with 2,048 bytes of dynamic shared memory.
#[kernel]
pub unsafe fn two_arrays_after(n: u32, a: &[f32], b: &[f32], c: *mut f32) {
    // SAFETY: two tiles of 256 elements lie behind each other in 2,048 bytes.
    unsafe {
        let tile_a = DynamicTile::new(dynamic_shared_mem::<f32>(), EDGE, 1);
        let tile_b = DynamicTile::new(dynamic_shared_mem::<f32>().add(EDGE * EDGE), EDGE, 1);
        multiply(n, a, b, c, tile_a, tile_b)
    }
}

/// C = A · B with tiles wherever they lie.
///
/// # Safety
/// As for the kernels.
#[inline(always)]
pub(crate) unsafe fn multiply(
    n: u32,
    a: &[f32],
    b: &[f32],
    c: *mut f32,
    tile_a: DynamicTile<f32>,
    tile_b: DynamicTile<f32>,
) {
    let n = n as usize;
    let ((x, y), (row, col)) = place();
    // SAFETY: tile accesses are inside the tiles, and barriers part stores from loads.
    unsafe {
        let (a, b) = (View::new(a, n, n), View::new(b, n, n));
        let mut sum = 0.0;
        for first in (0..n).step_by(EDGE) {
            tile_a.set(y, x, a.get_or(row, first + x, 0.0));
            tile_b.set(y, x, b.get_or(first + y, col, 0.0));
            thread::sync_threads();
            for i in 0..EDGE {
                sum += tile_a.get(y, i) * tile_b.get(i, x);
            }
            thread::sync_threads();
        }
        ViewMut::new(c, n, n).set(row, col, sum);
    }
}
