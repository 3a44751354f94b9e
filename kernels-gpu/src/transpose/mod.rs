//! The transpose of a row-major matrix, step by step: f32, f64, f16 and bytes, any shape.
//!
//! Reading rows and writing columns cannot both be contiguous, unless the turn happens in shared memory:
//!
//! | step | reads | writes | shared memory |
//! | --- | --- | --- | --- |
//! | copy, the yardstick | contiguous | contiguous | not used |
//! | naive | contiguous | one sector for each lane | not used |
//! | tile | contiguous | contiguous | reading a column: 32 lanes in one bank |
//! | padded | contiguous | contiguous | an odd number of words a row: no conflict |
//! | swizzled | contiguous | contiguous | columns permuted by row: no conflict, nothing wasted |
//! | [vectorised] | 16 bytes a lane | 16 bytes a lane | chunks of 16 bytes permuted: no conflict |
//! | [shifted] | as vectorised, rows that begin anywhere | | words shifted as they are read |
//! | [hopper] | as the last two, 256 bytes at a time into L2 | as the last two | as the last two |
//!
//! Up to the swizzled step a block of 32 × 8 threads moves a tile of 32 × 32, four rows a thread.

#[cfg(any(not(target_os = "cuda"), target_feature = "compute_90a"))]
pub mod hopper;
pub mod shifted;
pub mod tiling;
pub mod vectorised;

#[cfg(not(target_feature = "compute_80"))]
use cuda_std::prelude::*;
#[cfg(not(target_feature = "compute_80"))]
use tile::{Layout, Padded, Plain, SharedTile, Swizzled, View, ViewMut, shared_tile};

/// The edge of a tile, and the width of a block.
pub const TILE: usize = 32;
/// The height of a block.
pub const BLOCK_ROWS: usize = 8;

/// The block's tile: row and column of its first element, and this thread's place in it.
#[cfg(not(target_feature = "compute_80"))]
#[inline(always)]
fn place() -> ((usize, usize), (usize, usize)) {
    let tile = (thread::block_idx_y() as usize * TILE, thread::block_idx_x() as usize * TILE);
    (tile, (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize))
}

/// Moves every element, turned (`to` is cols × rows) or not (`to` is rows × cols), from register to memory.
#[cfg(not(target_feature = "compute_80"))]
#[inline(always)]
unsafe fn direct<T: Copy>(rows: u32, cols: u32, from: &[T], to: *mut T, turn: bool) {
    let (rows, cols) = (rows as usize, cols as usize);
    let ((row, col), (x, y)) = place();
    // SAFETY: the kernels' contract gives both matrices rows × cols elements; one thread moves each.
    unsafe {
        let from = View::new(from, rows, cols);
        let to = if turn { ViewMut::new(to, cols, rows) } else { ViewMut::new(to, rows, cols) };
        for part in 0..TILE / BLOCK_ROWS {
            let (row, col) = (row + part * BLOCK_ROWS + y, col + x);
            if row < rows && col < cols {
                let value = *from.element(row, col);
                if turn { to.set(col, row, value) } else { to.set(row, col, value) }
            }
        }
    }
}

/// Moves a tile through shared memory and turns it there.
///
/// With `ONE_BY_ONE` a thread waits for each element of the tile before it asks for the next. A load for which 32 lanes
/// want one bank takes 32 turns, and while four of them are queued, other warps' loads from global memory wait behind:
/// one by one, the tile with conflicts is 7 % faster. Tiles without conflicts are slower so, by 0 to 22 %.
#[cfg(not(target_feature = "compute_80"))]
#[inline(always)]
unsafe fn through_shared<T: Copy, L: Layout<TILE, TILE>, const ONE_BY_ONE: bool>(
    rows: u32,
    cols: u32,
    from: &[T],
    to: *mut T,
    tile: SharedTile<T, TILE, TILE, L>,
) {
    let (rows, cols) = (rows as usize, cols as usize);
    let ((row, col), (x, y)) = place();
    // SAFETY: as in `direct`; a barrier parts the tile's stores from its loads.
    unsafe {
        let from = View::new(from, rows, cols);
        for part in 0..TILE / BLOCK_ROWS {
            let r = part * BLOCK_ROWS + y;
            // The guard is that of the matrix that is read; what it leaves unwritten is never read below.
            if row + r < rows && col + x < cols {
                tile.set(r, x, *from.element(row + r, col + x));
            }
        }
        thread::sync_threads();
        // The tile's place in the result is mirrored, and x still runs along a row there: contiguous stores.
        // The guard is now that of the matrix that is written.
        let to = ViewMut::new(to, cols, rows);
        for part in 0..TILE / BLOCK_ROWS {
            if ONE_BY_ONE {
                cuda_std::unroll!(none);
            }
            let r = part * BLOCK_ROWS + y;
            if to.contains(col + r, row + x) {
                to.set(col + r, row + x, tile.get(x, r));
            }
        }
    }
}

/// The kernels of one element type; all take `rows`, `cols`, the matrix, and where the result goes.
///
/// A padded row must be an odd number of 4-byte words: one more f32 or f64 does it, but two more f16 and four more bytes.
#[cfg(not(target_feature = "compute_80"))]
macro_rules! kernels {
    ($element:ty, $pad:literal, $copy:ident, $naive:ident, $tile:ident, $padded:ident, $swizzled:ident) => {
        /// The yardstick: the same elements, the same block, not turned.
        ///
        /// # Safety
        /// `from` and `to` hold rows × cols elements; blocks are 32 × 8.
        #[kernel]
        #[block_dim(32, 8)]
        pub unsafe fn $copy(rows: u32, cols: u32, from: &[$element], to: *mut $element) {
            // SAFETY: as the contract says.
            unsafe { direct(rows, cols, from, to, false) }
        }

        /// Straight from register to memory: a warp reads one row and writes 32.
        ///
        /// # Safety
        /// `from` and `to` hold rows × cols elements; blocks are 32 × 8.
        #[kernel]
        #[block_dim(32, 8)]
        pub unsafe fn $naive(rows: u32, cols: u32, from: &[$element], to: *mut $element) {
            // SAFETY: as the contract says.
            unsafe { direct(rows, cols, from, to, true) }
        }

        /// Through a shared tile: both sides contiguous, but a column of the tile lies in one bank.
        ///
        /// # Safety
        /// `from` and `to` hold rows × cols elements; blocks are 32 × 8.
        #[kernel]
        #[block_dim(32, 8)]
        pub unsafe fn $tile(rows: u32, cols: u32, from: &[$element], to: *mut $element) {
            // SAFETY: as the contract says.
            unsafe { through_shared::<_, _, true>(rows, cols, from, to, shared_tile![$element; TILE, TILE; Plain]) }
        }

        /// One unused word in each row of the tile: its columns now go through all banks.
        ///
        /// # Safety
        /// `from` and `to` hold rows × cols elements; blocks are 32 × 8.
        #[kernel]
        #[block_dim(32, 8)]
        pub unsafe fn $padded(rows: u32, cols: u32, from: &[$element], to: *mut $element) {
            // SAFETY: as the contract says.
            unsafe { through_shared::<_, _, false>(rows, cols, from, to, shared_tile![$element; TILE, TILE; Padded<$pad>]) }
        }

        /// Columns permuted by row: free of conflicts without the unused column.
        ///
        /// # Safety
        /// `from` and `to` hold rows × cols elements; blocks are 32 × 8.
        #[kernel]
        #[block_dim(32, 8)]
        pub unsafe fn $swizzled(rows: u32, cols: u32, from: &[$element], to: *mut $element) {
            // SAFETY: as the contract says.
            unsafe { through_shared::<_, _, false>(rows, cols, from, to, shared_tile![$element; TILE, TILE; Swizzled]) }
        }
    };
}

#[cfg(not(target_feature = "compute_80"))]
kernels!(f32, 1, transpose_copy, transpose_naive, transpose_tile, transpose_padded, transpose_swizzled);
#[cfg(not(target_feature = "compute_80"))]
kernels!(
    f64,
    1,
    transpose_copy_f64,
    transpose_naive_f64,
    transpose_tile_f64,
    transpose_padded_f64,
    transpose_swizzled_f64
);
#[cfg(not(target_feature = "compute_80"))]
kernels!(
    f16,
    2,
    transpose_copy_f16,
    transpose_naive_f16,
    transpose_tile_f16,
    transpose_padded_f16,
    transpose_swizzled_f16
);
#[cfg(not(target_feature = "compute_80"))]
kernels!(
    u8,
    4,
    transpose_copy_u8,
    transpose_naive_u8,
    transpose_tile_u8,
    transpose_padded_u8,
    transpose_swizzled_u8
);
