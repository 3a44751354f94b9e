//! The transposes of every device; [`crate::transpose`] tells their steps.
//!
//! Up to the swizzled step a block of 32 × 8 threads moves a tile of 32 × 32, four rows a thread.

use cuda_std::prelude::*;
use tile::{Layout, Padded, Plain, SharedTile, Swizzled, View, ViewMut, shared_tile};

#[cfg(feature = "host")]
use crate::choice::UseKernel;
#[cfg(feature = "host")]
use crate::transpose::Signature;

/// The edge of a tile, and the width of a block.
pub const TILE: usize = 32;
/// The height of a block.
pub const BLOCK_ROWS: usize = 8;

/// The block's tile: row and column of its first element, and this thread's place in it.
#[inline(always)]
fn place() -> ((usize, usize), (usize, usize)) {
    let tile = (thread::block_idx_y() as usize * TILE, thread::block_idx_x() as usize * TILE);
    (tile, (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize))
}

/// Moves every element, turned (`to` is cols × rows) or not (`to` is rows × cols), from register to memory.
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
#[cfg(feature = "host")]
pub trait Family: Sized + 'static {
    /// Uses the kernel of a step.
    fn choose<R>(step: Step, user: impl UseKernel<Signature<Self>, R>) -> R;
}

/// Writes the kernels of the steps for each element type.
macro_rules! steps {
    ($($element:ident [$($suffix:ident)?] $pad:literal;)*) => { pastey::paste! {
        $(
            steps! { @kernels $element;
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

            #[cfg(feature = "host")]
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
    (@kernels $element:ident; $($doc:literal: $name:ident |$rows:ident, $cols:ident, $from:ident, $to:ident| $body:expr;)*) => {$(
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
steps! {
    f32 [] 1;
    f64 [_f64] 1;
    f16 [_f16] 2;
    u8 [_u8] 4;
}

/// The kernels of [`vectorised`](crate::transpose::vectorised).
pub mod vectorised {
    use cuda_std::prelude::*;

    use crate::transpose::vectorised::{TILE_1, TILE_2, TILE_4, TILE_8, TILE_16, kernels};

    kernels! { false;
        /// Bytes: two rows a thread, turned in registers. Four would fill whole words of shared memory, but a thread with 64
        /// bytes in flight instead of 32 is slower by 0.01 to 0.03: L1 has to hold them.
        transpose_vectorised_1_byte: u8, u16, 2, TILE_1, 1024;
        /// Elements of 2 bytes: two rows a thread, turned in registers.
        transpose_vectorised_2_bytes: u16, u32, 2, TILE_2, 1024;
        /// Elements of 4 bytes.
        transpose_vectorised_4_bytes: u32, u32, 1, TILE_4, 512;
        /// Elements of 8 bytes: two in a vector.
        transpose_vectorised_8_bytes: u64, u64, 1, TILE_8, 512;
        /// Elements of 16 bytes: a vector each, so shared memory alone turns them.
        transpose_vectorised_16_bytes: u128, tile::Vector, 1, TILE_16, 512;
    }
}

/// The kernels of [`shifted`](crate::transpose::shifted).
pub mod shifted {
    use cuda_std::prelude::*;

    use crate::transpose::shifted::{self, kernels};

    kernels! { false, 2;
        /// Bytes.
        transpose_shifted_1_byte: u8, u32, 4, TILE_1, 512, shifted::SIDE_1;
        /// Elements of 2 bytes.
        transpose_shifted_2_bytes: u16, u32, 2, TILE_2, 512, 1;
        /// Elements of 4 bytes.
        transpose_shifted_4_bytes: u32, u32, 1, TILE_4, 512, 1;
        /// Elements of 8 bytes.
        transpose_shifted_8_bytes: u64, u64, 1, TILE_8, 512, 1;
    }
}
