//! The guard of the matrix that is read is used again for the matrix that is written, whose shape is another one.

use cuda_std::prelude::*;
use tile::{Padded, View, shared_tile};

use crate::{EDGE, place};

/// The transpose of a rows × cols matrix, wrong in tiles that the edge cuts.
///
/// # Safety
/// `from` and `to` hold rows × cols elements; blocks are 16 × 16.
#[kernel]
pub unsafe fn reused_guard_before(rows: u32, cols: u32, from: &[f32], to: *mut f32) {
    let (rows, cols) = (rows as usize, cols as usize);
    let ((x, y), (row, col)) = place();
    let tile = shared_tile![f32; EDGE, EDGE; Padded<1>];
    // SAFETY: none that holds: that is the mistake.
    unsafe {
        let from = View::new(from, rows, cols);
        let inside = row < rows && col < cols;
        if inside {
            tile.set(y, x, *from.element(row, col));
        }
        thread::sync_threads();
        // The tile's place in the result is mirrored: this thread writes another element than it read.
        let (row, col) = (col - x + y, row - y + x);
        if inside {
            *to.add(row * rows + col) = tile.get(x, y);
        }
    }
}

/// The transpose of a rows × cols matrix.
///
/// # Safety
/// `from` and `to` hold rows × cols elements; blocks are 16 × 16.
#[kernel]
pub unsafe fn reused_guard_after(rows: u32, cols: u32, from: &[f32], to: *mut f32) {
    let (rows, cols) = (rows as usize, cols as usize);
    let ((x, y), (row, col)) = place();
    let tile = shared_tile![f32; EDGE, EDGE; Padded<1>];
    // SAFETY: each side has the guard of its own matrix, and a barrier parts the tile's stores from its loads.
    unsafe {
        let from = View::new(from, rows, cols);
        if row < rows && col < cols {
            tile.set(y, x, *from.element(row, col));
        }
        thread::sync_threads();
        // The tile's place in the result is mirrored: this thread writes another element than it read.
        let (row, col) = (col - x + y, row - y + x);
        if row < cols && col < rows {
            *to.add(row * rows + col) = tile.get(x, y);
        }
    }
}
