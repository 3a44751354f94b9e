//! Tiles of 4-byte elements that are moved by 16 bytes: a quarter of the accesses.

use ::tile::{Four, Layout, Padded, Plain};

use crate::own::elements;
use crate::tile::{Empty, Filled, Shared, Tile};
use crate::{Block, Element, Lane, Thread};

/// A layout by which four neighbours of a row are neighbours in memory, at a multiple of 16 bytes.
///
/// ```
/// # use blockwise::prelude::*;
/// /// Each row turned around, loaded and stored in shared memory by 16 bytes.
/// #[kernel]
/// pub fn turn_around(block: Block<32, 8>, #[shared] tile: Tile<f32, 8, 128>, from: Matrix<f32>, mut to: MatrixMut<f32, Tiles<8, 128>>) {
///     let row = block.y() * 8;
///     let filled = tile.fill_fours(&block, |_, (y, four)| from.four_or(row + y, four, 0.0));
///     let tile = block.share(filled);
///     to.write(&block, |_, (y, x)| tile.at(y, 127 - x));
/// }
/// ```
/// In a tile whose columns are permuted, four neighbours lie at four places:
///
/// ```compile_fail,E0599
/// # use blockwise::prelude::*;
/// # #[kernel]
/// # pub fn wrong(block: Block<32, 8>, #[shared] tile: Tile<f32, 8, 128, Swizzled>) {
/// tile.fill_fours(&block, |_, _| [0.0; 4]);
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "the elements of a row are not neighbours in a tile that is laid out `{Self}`",
    label = "moved by fours",
    note = "`Plain` tiles and `Padded<4>` ones are moved by fours"
)]
pub trait RowByRow<const ROWS: usize, const COLS: usize>: Layout<ROWS, COLS> + sealed::Sealed {
    /// From one row to the next, in elements.
    #[doc(hidden)]
    const PITCH: usize;
}

impl<const ROWS: usize, const COLS: usize> RowByRow<ROWS, COLS> for Plain {
    const PITCH: usize = COLS;
}
impl<const ROWS: usize, const COLS: usize, const BY: usize> RowByRow<ROWS, COLS> for Padded<BY> {
    const PITCH: usize = COLS + BY;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for ::tile::Plain {}
    impl<const BY: usize> Sealed for ::tile::Padded<BY> {}
}

impl<T: Lane, const ROWS: usize, const COLS: usize, L: RowByRow<ROWS, COLS>, P> Tile<T, ROWS, COLS, L, P> {
    /// The address of four neighbours of a row: 4 · `four` and the three after it.
    ///
    /// # Safety
    /// They are inside the tile.
    #[inline(always)]
    pub(crate) unsafe fn four_at(&self, row: usize, four: usize) -> *mut Four<T> {
        const {
            assert!(
                COLS.is_multiple_of(4) && L::PITCH.is_multiple_of(4),
                "a row that is moved by fours is a multiple of four elements long, its padding with it"
            )
        }
        // SAFETY: the caller's promise.
        unsafe { self.first().add(row * L::PITCH + 4 * four).cast() }
    }
}

impl<T: Lane, const ROWS: usize, const COLS: usize, L: RowByRow<ROWS, COLS>> Tile<T, ROWS, COLS, L, Empty> {
    /// As [`fill`](Self::fill), by fours: of row y each thread computes four neighbours at once, those from column 4 · `four` on.
    #[inline(always)]
    pub fn fill_fours<const W: usize, const H: usize, const D: usize>(
        self,
        block: &Block<W, H, D>,
        four: impl for<'t> Fn(Thread<'t, W, H, D>, (usize, usize)) -> [T; 4] + Sync,
    ) -> Tile<T, ROWS, COLS, L, Filled> {
        let t = block.thread();
        elements::<ROWS, COLS, 4, W, H, D>(t, |row, col| {
            let value = Four(four(t, (row, col)));
            // SAFETY: they are inside the tile, aligned as `four_at` says, and this thread's alone until the next barrier.
            unsafe { *self.four_at(row, col) = value };
        });
        // SAFETY: each element was filled.
        unsafe { Tile::from_raw(self.first()) }
    }
}

impl<T: Element, const ROWS: usize, const COLS: usize, L: Layout<ROWS, COLS>> Tile<T, ROWS, COLS, L, Empty> {
    /// As [`fill`](Self::fill), by fours down the columns: of column x each thread computes four elements, those from row
    /// 4 · `four` on. That is how what was loaded along a row is stored turned.
    #[inline(always)]
    pub fn fill_fours_down<const W: usize, const H: usize, const D: usize>(
        self,
        block: &Block<W, H, D>,
        four: impl for<'t> Fn(Thread<'t, W, H, D>, (usize, usize)) -> [T; 4] + Sync,
    ) -> Tile<T, ROWS, COLS, L, Filled> {
        let t = block.thread();
        elements::<COLS, ROWS, 4, W, H, D>(t, |col, row| {
            let values = four(t, (col, row));
            for i in 0..4 {
                cuda_std::unroll!(full);
                // SAFETY: it is inside the tile, and this thread's alone until the next barrier.
                unsafe { *self.first().add(L::place(4 * row + i, col)) = values[i] };
            }
        });
        // SAFETY: each element was filled.
        unsafe { Tile::from_raw(self.first()) }
    }
}

impl<T: Lane, const ROWS: usize, const COLS: usize, L: RowByRow<ROWS, COLS>> Tile<T, ROWS, COLS, L, Shared> {
    /// The elements at a row and at columns 4 · `four` to 4 · `four` + 3, by one access. Outside of the tile it panics.
    #[inline(always)]
    #[track_caller]
    pub fn four(&self, row: usize, four: usize) -> [T; 4] {
        assert!(row < ROWS && four < COLS / 4, "there are no such elements in the tile");
        // SAFETY: they are inside the tile, every element was filled, and a barrier lies between.
        unsafe { (*self.four_at(row, four)).0 }
    }
}
