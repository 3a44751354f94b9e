//! Tiles that a block loads together, and values that it reduces.

use cuda_std::prelude::*;
use cuda_std::shared_array;
use tile::{
    Layout, Padded, Plain, SharedTile, Swizzled, View, reduce, shared_tile, thread_in_block, threads_of_block,
};

/// Rows and columns of the tiles below.
pub const ROWS: usize = 12;
/// See [`ROWS`].
pub const COLS: usize = 32;

/// Loads a tile whose first element is (`row`, `col`), and writes it out row by row.
///
/// # Safety
/// `from` has rows × cols elements, `to` has [`ROWS`] × [`COLS`].
#[inline(always)]
unsafe fn window<L: Layout<ROWS, COLS>>(
    tile: SharedTile<f32, ROWS, COLS, L>,
    (rows, cols): (u32, u32),
    (row, col): (i32, i32),
    from: &[f32],
    to: *mut f32,
) {
    // SAFETY: as the contract says; a barrier parts the tile's loads from its reads.
    unsafe {
        tile.load(View::new(from, rows as usize, cols as usize), (row as isize, col as isize), -1.0);
        thread::sync_threads();
        let mut i = thread_in_block();
        while i < ROWS * COLS {
            *to.add(i) = tile.get(i / COLS, i % COLS);
            i += threads_of_block();
        }
    }
}

/// `window` in a plain tile.
///
/// # Safety
/// As for `window`.
#[kernel]
pub unsafe fn window_plain(rows: u32, cols: u32, row: i32, col: i32, from: &[f32], to: *mut f32) {
    // SAFETY: the caller's promise.
    unsafe { window(shared_tile![f32; ROWS, COLS; Plain], (rows, cols), (row, col), from, to) }
}

/// `window` in a padded tile.
///
/// # Safety
/// As for `window`.
#[kernel]
pub unsafe fn window_padded(rows: u32, cols: u32, row: i32, col: i32, from: &[f32], to: *mut f32) {
    // SAFETY: the caller's promise.
    unsafe { window(shared_tile![f32; ROWS, COLS; Padded<1>], (rows, cols), (row, col), from, to) }
}

/// `window` in a swizzled tile.
///
/// # Safety
/// As for `window`.
#[kernel]
pub unsafe fn window_swizzled(rows: u32, cols: u32, row: i32, col: i32, from: &[f32], to: *mut f32) {
    // SAFETY: the caller's promise.
    unsafe { window(shared_tile![f32; ROWS, COLS; Swizzled], (rows, cols), (row, col), from, to) }
}

/// The sum and the largest of each block's numbers, twice in a row from one scratch array, as every thread sees them.
///
/// # Safety
/// `from` has a number for each thread of the grid, `to` two.
#[kernel]
pub unsafe fn block_sums(from: &[u32], to: *mut u32) {
    let scratch = shared_array![u32; 1024];
    let threads = threads_of_block();
    let at = thread::block_idx_x() as usize * threads + thread_in_block();
    // SAFETY: blocks have at most 1,024 threads, and all of them come here.
    unsafe {
        let sum = reduce(scratch, from[at], |a, b| a + b);
        let most = reduce(scratch, from[at], u32::max);
        *to.add(2 * at) = sum;
        *to.add(2 * at + 1) = most;
    }
}
