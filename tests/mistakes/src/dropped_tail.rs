//! The number of tiles is rounded down: what is left over at the end is dropped.

use cuda_std::prelude::*;
use tile::{Plain, View, ViewMut, shared_tile};

use crate::{EDGE, place};

/// C = A · B, wrong if n is no multiple of the tile.
///
/// # Safety
/// `a`, `b` and `c` hold n × n elements; blocks are 16 × 16.
#[kernel]
pub unsafe fn dropped_tail_before(n: u32, a: &[f32], b: &[f32], c: *mut f32) {
    let n = n as usize;
    let ((x, y), (row, col)) = place();
    let tile_a = shared_tile![f32; EDGE, EDGE; Plain];
    let tile_b = shared_tile![f32; EDGE, EDGE; Plain];
    // SAFETY: tile accesses are inside the tiles, and barriers part stores from loads.
    unsafe {
        let (a, b) = (View::new(a, n, n), View::new(b, n, n));
        let mut sum = 0.0;
        for phase in 0..n / EDGE {
            let first = phase * EDGE;
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

/// C = A · B: one more phase for what is left over, filled up with zeros, which add nothing.
///
/// # Safety
/// `a`, `b` and `c` hold n × n elements; blocks are 16 × 16.
#[kernel]
pub unsafe fn dropped_tail_after(n: u32, a: &[f32], b: &[f32], c: *mut f32) {
    let n = n as usize;
    let ((x, y), (row, col)) = place();
    let tile_a = shared_tile![f32; EDGE, EDGE; Plain];
    let tile_b = shared_tile![f32; EDGE, EDGE; Plain];
    // SAFETY: tile accesses are inside the tiles, and barriers part stores from loads.
    unsafe {
        let (a, b) = (View::new(a, n, n), View::new(b, n, n));
        let mut sum = 0.0;
        for phase in 0..n.div_ceil(EDGE) {
            let first = phase * EDGE;
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
