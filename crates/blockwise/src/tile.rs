//! Tiles in shared memory, whose phase is part of their type.

use core::marker::PhantomData;

use ::tile::{Layout, Plain};

use crate::linear;
use crate::own::elements;
use crate::{Block, Element, Linear, Thread};

/// A `ROWS` × `COLS` tile in shared memory, laid out as `L` says: a parameter of the kernel that is marked `#[shared]`.
///
/// Its phase is the last of its types. It is [`Empty`] at first; each thread computes its own elements and it is [`Filled`];
/// [`Block::share`] waits, and it is [`Shared`]: all read, none writes; [`Block::reuse`] waits, and it is empty again. Each step
/// takes the tile and gives it back, so a step that is left out does not compile.
///
/// ```
/// # use blockwise::prelude::*;
/// #[kernel]
/// pub fn turn(block: Block<32, 8>, #[shared] tile: Tile<f32, 32, 32, Padded<1>>, from: Matrix<f32>, mut to: MatrixMut<f32, Mirrored<32, 32>>) {
///     let (row, col) = (block.y() * 32, block.x() * 32);
///     let filled = tile.fill(&block, |_, (y, x)| from.get_or(row + y, col + x, 0.0));
///     let tile = block.share(filled);
///     to.write(&block, |_, (y, x)| tile.at(x, y));
/// }
/// ```
/// ```compile_fail,E0599
/// # use blockwise::prelude::*;
/// # #[kernel]
/// # pub fn turn(block: Block<32, 8>, #[shared] tile: Tile<f32, 32, 32>, mut to: MatrixMut<f32, Mirrored<32, 32>>) {
/// let tile = tile.fill(&block, |_, (y, x)| 0.0);
/// to.write(&block, |_, (y, x)| tile.at(x, y)); // before a barrier has waited for the others' elements
/// # }
/// ```
pub struct Tile<T, const ROWS: usize, const COLS: usize, L = Plain, P = Empty> {
    first: *mut T,
    layout: PhantomData<(L, P)>,
}

/// The phase of a tile that holds nothing.
pub enum Empty {}
/// The phase of a tile of which each thread has computed its own elements, and knows no others.
pub enum Filled {}
/// The phase of a tile that all threads read.
pub enum Shared {}

// SAFETY: in this phase elements are read only.
unsafe impl<T: Element, const ROWS: usize, const COLS: usize, L> Sync for Tile<T, ROWS, COLS, L, Shared> {}

impl<T: Element, const ROWS: usize, const COLS: usize, L: Layout<ROWS, COLS>, P> Tile<T, ROWS, COLS, L, P> {
    /// The elements of shared memory that it takes.
    pub(crate) const LEN: usize = {
        assert!(size_of::<T>() > 0, "the elements of a tile have a size");
        L::LEN
    };

    /// # Safety
    /// `LEN` elements of shared memory lie there, in the phase `P`, and nothing else uses them.
    #[inline(always)]
    pub(crate) unsafe fn from_raw(first: *mut T) -> Self {
        Self { first, layout: PhantomData }
    }

    #[inline(always)]
    pub(crate) fn first(&self) -> *mut T {
        self.first
    }
}

impl<T: Element, const ROWS: usize, const COLS: usize, L: Layout<ROWS, COLS>> Tile<T, ROWS, COLS, L, Empty> {
    /// Each thread computes the elements that are its own, from their rows and columns in the tile.
    #[inline(always)]
    pub fn fill<const W: usize, const H: usize, const D: usize>(
        self,
        block: &Block<W, H, D>,
        element: impl for<'t> Fn(Thread<'t, W, H, D>, (usize, usize)) -> T + Sync,
    ) -> Tile<T, ROWS, COLS, L, Filled> {
        let t = block.thread();
        elements::<ROWS, COLS, 1, W, H, D>(t, |row, col| {
            let value = element(t, (row, col));
            // SAFETY: the element is inside the tile, and this thread's alone until the next barrier.
            unsafe { *self.first.add(L::place(row, col)) = value };
        });
        Tile { first: self.first, layout: PhantomData }
    }
}

impl<T: Element, const ROWS: usize, const COLS: usize, L: Layout<ROWS, COLS>> Tile<T, ROWS, COLS, L, Empty> {
    /// As [`fill`](Self::fill), and a linear map says which elements are a thread's own.
    ///
    /// ```
    /// # use blockwise::prelude::*;
    /// # #[kernel]
    /// # pub fn example(block: Block<256>, #[shared] tile: Tile<f32, 4, 256>) {
    /// // Thread x has four neighbours of the tile, those from element 4x on.
    /// let filled = tile.fill_by(Linear::<4, 256, 4, 0, 1>, &block, |t, (row, col)| (256 * row + col) as f32);
    /// # }
    /// ```
    #[inline(always)]
    pub fn fill_by<
        const X: usize,
        const Y: usize,
        const K: usize,
        const W: usize,
        const H: usize,
        const D: usize,
    >(
        self,
        _: Linear<ROWS, COLS, X, Y, K>,
        block: &Block<W, H, D>,
        element: impl for<'t> Fn(Thread<'t, W, H, D>, (usize, usize)) -> T + Sync,
    ) -> Tile<T, ROWS, COLS, L, Filled> {
        let t = block.thread();
        linear::elements::<ROWS, COLS, X, Y, K, W, H, D>(t, |row, col| {
            let value = element(t, (row, col));
            // SAFETY: the element is inside the tile, and this thread's alone until the next barrier.
            unsafe { *self.first.add(L::place(row, col)) = value };
        });
        Tile { first: self.first, layout: PhantomData }
    }
}

impl<T: Element, const ROWS: usize, const COLS: usize, L: Layout<ROWS, COLS>> Tile<T, ROWS, COLS, L, Shared> {
    /// The element at a row and a column. Outside of the tile it panics.
    #[inline(always)]
    #[track_caller]
    pub fn at(&self, row: usize, col: usize) -> T {
        assert!(row < ROWS && col < COLS, "there is no such element in the tile");
        // SAFETY: it is inside the tile, every element was filled, and a barrier lies between.
        unsafe { *self.first.add(L::place(row, col)) }
    }
}
