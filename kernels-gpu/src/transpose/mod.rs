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

#[cfg(not(target_os = "cuda"))]
use crate::choice::UseKernel;
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

/// The signature of all transposes: rows, columns, the matrix, and where the result goes.
pub type Signature<T> = fn(u32, u32, &'static [T], *mut T);

/// What uses a transpose of elements of 1, 2, 4, 8 or 16 bytes.
#[cfg(not(target_os = "cuda"))]
pub trait UseTranspose<R>:
    UseKernel<Signature<u8>, R>
    + UseKernel<Signature<u16>, R>
    + UseKernel<Signature<u32>, R>
    + UseKernel<Signature<u64>, R>
    + UseKernel<Signature<u128>, R>
{
}
#[cfg(not(target_os = "cuda"))]
impl<U, R> UseTranspose<R> for U where
    U: UseKernel<Signature<u8>, R>
        + UseKernel<Signature<u16>, R>
        + UseKernel<Signature<u32>, R>
        + UseKernel<Signature<u64>, R>
        + UseKernel<Signature<u128>, R>
{
}

/// The steps up to the swizzled one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The yardstick: the same elements, the same block, not turned.
    Copy,
    /// Straight from register to memory: a warp reads one row and writes 32.
    Naive,
    /// Through a shared tile: both sides contiguous, but a column of the tile lies in one bank.
    Tile,
    /// One unused word in each row of the tile: its columns now go through all banks.
    Padded,
    /// Columns permuted by row: free of conflicts without the unused column.
    Swizzled,
}

/// An element type, and its kernels of the steps up to the swizzled one.
#[cfg(not(target_os = "cuda"))]
pub trait Family: Sized + 'static {
    /// Uses the kernel of a step.
    fn choose<R>(step: Step, user: impl UseKernel<Signature<Self>, R>) -> R;
}

/// Writes the kernels of the steps for each element type.
#[cfg(not(target_feature = "compute_80"))]
macro_rules! kernels {
    ($($element:ident [$($suffix:ident)?] $pad:literal;)*) => { pastey::paste! {
        $(
            kernels! { @steps $element;
                "The yardstick: the same elements, the same block, not turned.":
                [<transpose_copy $($suffix)?>] |m, n, from, to| direct(m, n, from, to, false);
                "Straight from register to memory: a warp reads one row and writes 32.":
                [<transpose_naive $($suffix)?>] |m, n, from, to| direct(m, n, from, to, true);
                "Through a shared tile: both sides contiguous, but a column of the tile lies in one bank.":
                [<transpose_tile $($suffix)?>] |m, n, from, to|
                through_shared::<_, _, true>(m, n, from, to, shared_tile![$element; TILE, TILE; Plain]);
                "One unused word in each row of the tile: its columns now go through all banks.":
                [<transpose_padded $($suffix)?>] |m, n, from, to|
                through_shared::<_, _, false>(m, n, from, to, shared_tile![$element; TILE, TILE; Padded<$pad>]);
                "Columns permuted by row: free of conflicts without the unused column.":
                [<transpose_swizzled $($suffix)?>] |m, n, from, to|
                through_shared::<_, _, false>(m, n, from, to, shared_tile![$element; TILE, TILE; Swizzled]);
            }

            #[cfg(not(target_os = "cuda"))]
            impl Family for $element {
                fn choose<R>(step: Step, user: impl UseKernel<Signature<Self>, R>) -> R {
                    match step {
                        Step::Copy => user.with::<[<transpose_copy $($suffix)?>]>(),
                        Step::Naive => user.with::<[<transpose_naive $($suffix)?>]>(),
                        Step::Tile => user.with::<[<transpose_tile $($suffix)?>]>(),
                        Step::Padded => user.with::<[<transpose_padded $($suffix)?>]>(),
                        Step::Swizzled => user.with::<[<transpose_swizzled $($suffix)?>]>(),
                    }
                }
            }
        )*
        listed! { $(
            [<transpose_copy $($suffix)?>] [<transpose_naive $($suffix)?>] [<transpose_tile $($suffix)?>]
            [<transpose_padded $($suffix)?>] [<transpose_swizzled $($suffix)?>]
        )* }
    } };
    (@steps $element:ident; $($doc:literal: $name:ident |$rows:ident, $cols:ident, $from:ident, $to:ident| $body:expr;)*) => {$(
        #[doc = $doc]
        ///
        /// # Safety
        /// `from` and `to` hold rows × cols elements; blocks are 32 × 8.
        #[kernel]
        #[block_dim(32, 8)]
        pub unsafe fn $name($rows: u32, $cols: u32, $from: &[$element], $to: *mut $element) {
            // SAFETY: as the contract says.
            unsafe { $body }
        }
    )*};
}

// A padded row must be an odd number of 4-byte words: one more f32 or f64 does it, but two more f16 and four more bytes.
#[cfg(not(target_feature = "compute_80"))]
kernels! {
    f32 [] 1;
    f64 [_f64] 1;
    f16 [_f16] 2;
    u8 [_u8] 4;
}
