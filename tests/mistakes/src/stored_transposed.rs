//! A tile is stored transposed, so that reads of its columns would be rows, but read straight.

use cuda_std::prelude::*;
use tile::{Plain, View, ViewMut, shared_tile};

use crate::{EDGE, place};

/// C = A · B, wrong: B's tile is stored by columns and read by rows.
///
/// # Safety
/// `a`, `b` and `c` hold n × n elements; blocks are 16 × 16.
#[kernel]
pub unsafe fn stored_transposed_before(n: u32, a: &[f32], b: &[f32], c: *mut f32) {
    let n = n as usize;
    let ((x, y), (row, col)) = place();
    let tile_a = shared_tile![f32; EDGE, EDGE; Plain];
    let tile_b = shared_tile![f32; EDGE, EDGE; Plain];
    // SAFETY: tile accesses are inside the tiles, and barriers part stores from loads.
    unsafe {
        let (a, b) = (View::new(a, n, n), View::new(b, n, n));
        let mut sum = 0.0;
        for first in (0..n).step_by(EDGE) {
            tile_a.set(y, x, a.get_or(row, first + x, 0.0));
            tile_b.set(x, y, b.get_or(first + y, col, 0.0)); // row x, column y
            thread::sync_threads();
            for i in 0..EDGE {
                sum += tile_a.get(y, i) * tile_b.get(i, x); // row i, column x
            }
            thread::sync_threads();
        }
        ViewMut::new(c, n, n).set(row, col, sum);
    }
}

/// C = A · B: stored as it is read, row by row.
///
/// # Safety
/// `a`, `b` and `c` hold n × n elements; blocks are 16 × 16.
#[kernel]
pub unsafe fn stored_transposed_after(n: u32, a: &[f32], b: &[f32], c: *mut f32) {
    let n = n as usize;
    let ((x, y), (row, col)) = place();
    let tile_a = shared_tile![f32; EDGE, EDGE; Plain];
    let tile_b = shared_tile![f32; EDGE, EDGE; Plain];
    // SAFETY: tile accesses are inside the tiles, and barriers part stores from loads.
    unsafe {
        let (a, b) = (View::new(a, n, n), View::new(b, n, n));
        let mut sum = 0.0;
        for first in (0..n).step_by(EDGE) {
            tile_a.set(y, x, a.get_or(row, first + x, 0.0));
            tile_b.set(y, x, b.get_or(first + y, col, 0.0)); // row y, column x
            thread::sync_threads();
            for i in 0..EDGE {
                sum += tile_a.get(y, i) * tile_b.get(i, x); // row i, column x
            }
            thread::sync_threads();
        }
        ViewMut::new(c, n, n).set(row, col, sum);
    }
}
