//! Tiles that a block loads together, and values that it reduces.

use cuda_std::prelude::*;
use cuda_std::shared_array;
use tile::{
    Layout, Padded, Plain, SharedTile, Swizzled, View, reduce, scan, shared_tile, sync_grid, thread_in_block,
    threads_of_block, warp,
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
    let scratch = shared_array![u32; 32];
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

/// `x` becomes `slope * x + offset`. Two of them, one after the other, are one of them again, in one order only.
type Step = u64;

/// One after the other, in the arithmetic of 32 bits.
#[inline(always)]
fn then(first: Step, second: Step) -> Step {
    let (slope, offset) = (first as u32, (first >> 32) as u32);
    let (slope_2, offset_2) = (second as u32, (second >> 32) as u32);
    let offset = slope_2.wrapping_mul(offset).wrapping_add(offset_2);
    u64::from(offset) << 32 | u64::from(slope.wrapping_mul(slope_2))
}

/// All steps before each thread's, with it, and in all: of its warp, then of its block. Six results a thread.
///
/// # Safety
/// `steps` has one for each thread of the grid, `to` six.
#[kernel]
pub unsafe fn steps_scanned(steps: &[u64], to: *mut u64) {
    let scratch = shared_array![u64; 32];
    let at = thread::block_idx_x() as usize * threads_of_block() + thread_in_block();
    // SAFETY: all threads come here, and each writes its own six.
    unsafe {
        let of_warp = warp::scan(steps[at], 1, then);
        let of_block = scan(scratch, steps[at], 1, then);
        for (i, scan) in [of_warp, of_block].into_iter().enumerate() {
            *to.add(6 * at + 3 * i) = scan.exclusive;
            *to.add(6 * at + 3 * i + 1) = scan.inclusive;
            *to.add(6 * at + 3 * i + 2) = scan.total;
        }
    }
}

/// The largest number of each warp, and the sum of each block, in floating point.
///
/// # Safety
/// `from` has a number for each thread of the grid, `to` two.
#[kernel]
pub unsafe fn floats_reduced(from: &[f32], to: *mut f32) {
    let scratch = shared_array![f32; 32];
    let at = thread::block_idx_x() as usize * threads_of_block() + thread_in_block();
    // SAFETY: all threads come here, and each writes its own two.
    unsafe {
        *to.add(2 * at) = warp::reduce(from[at], f32::max);
        *to.add(2 * at + 1) = reduce(scratch, from[at], |a, b| a + b);
    }
}

/// Turns the numbers in place by one place, three times: all threads of the grid read before any writes.
///
/// # Safety
/// `x` has a number for each thread of the grid, which is launched together; `counter` is a zero.
#[kernel]
pub unsafe fn turned(x: *mut u32, counter: *mut u32) {
    let threads = threads_of_block();
    let at = thread::block_idx_x() as usize * threads + thread_in_block();
    let all = thread::grid_dim_x() as usize * threads;
    for _ in 0..3 {
        // SAFETY: the caller's promise; the grid waits between reads and writes, and between writes and reads.
        unsafe {
            let next = *x.add((at + 1) % all);
            sync_grid(counter);
            *x.add(at) = next;
            sync_grid(counter);
        }
    }
}
