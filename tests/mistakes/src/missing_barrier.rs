//! One of the two barriers of a phase is missing.

use cuda_std::prelude::*;
use tile::{Plain, View, ViewMut, shared_tile};

use crate::{EDGE, place};

/// C = A · B, wrong: a thread multiplies before its neighbours have stored.
///
/// # Safety
/// `a`, `b` and `c` hold n × n elements; blocks are 16 × 16.
#[kernel]
pub unsafe fn barrier_before_use_before(n: u32, a: &[f32], b: &[f32], c: *mut f32) {
    let n = n as usize;
    let ((x, y), (row, col)) = place();
    let tile_a = shared_tile![f32; EDGE, EDGE; Plain];
    let tile_b = shared_tile![f32; EDGE, EDGE; Plain];
    // SAFETY: none that holds: that is the mistake.
    unsafe {
        let (a, b) = (View::new(a, n, n), View::new(b, n, n));
        let mut sum = 0.0;
        for first in (0..n).step_by(EDGE) {
            tile_a.set(y, x, a.get_or(row, first + x, 0.0));
            tile_b.set(y, x, b.get_or(first + y, col, 0.0));
            for i in 0..EDGE {
                sum += tile_a.get(y, i) * tile_b.get(i, x);
            }
            thread::sync_threads();
        }
        ViewMut::new(c, n, n).set(row, col, sum);
    }
}

/// C = A · B, wrong: a fast warp stores the next tile while a slow one still reads this one.
///
/// # Safety
/// `a`, `b` and `c` hold n × n elements; blocks are 16 × 16.
#[kernel]
pub unsafe fn barrier_after_use_before(n: u32, a: &[f32], b: &[f32], c: *mut f32) {
    let n = n as usize;
    let ((x, y), (row, col)) = place();
    let tile_a = shared_tile![f32; EDGE, EDGE; Plain];
    let tile_b = shared_tile![f32; EDGE, EDGE; Plain];
    // SAFETY: none that holds: that is the mistake.
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
        }
        ViewMut::new(c, n, n).set(row, col, sum);
    }
}

/// C = A · B, with both.
///
/// # Safety
/// `a`, `b` and `c` hold n × n elements; blocks are 16 × 16.
#[kernel]
pub unsafe fn missing_barrier_after(n: u32, a: &[f32], b: &[f32], c: *mut f32) {
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
            tile_b.set(y, x, b.get_or(first + y, col, 0.0));
            thread::sync_threads(); // no thread reads before all have stored
            for i in 0..EDGE {
                sum += tile_a.get(y, i) * tile_b.get(i, x);
            }
            thread::sync_threads(); // no thread stores before all have read
        }
        ViewMut::new(c, n, n).set(row, col, sum);
    }
}
