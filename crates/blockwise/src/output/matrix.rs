//! Matrices that are written.

use core::marker::PhantomData;

use super::Sealed;
use crate::grid::{Axis, Demand, MatrixMap, line};
use crate::own::elements;
use crate::{Block, Element, Thread};

/// A row-major matrix in global memory that a kernel writes, divided among blocks and threads by the map `M`. On the host it is
/// a `&mut DeviceMatrix<T>`, and the map decides the grid of the launch.
///
/// | map | the part of block (x, y) | what a thread is given |
/// | --- | --- | --- |
/// | [`Tiles<R, C>`](Tiles) | `R` × `C` from row y · `R` and column x · `C` | row and column in the tile |
/// | [`Mirrored<R, C>`](Mirrored) | `R` × `C` from row x · `R` and column y · `C` | row and column in the tile |
/// | [`Rows`] | row x | the column |
pub struct MatrixMut<T, M> {
    first: *mut T,
    rows: u32,
    cols: u32,
    map: PhantomData<M>,
}

// SAFETY: a thread asks its extents only; elements are reached through the block.
unsafe impl<T: Element, M> Sync for MatrixMut<T, M> {}

/// A tile of `R` × `C` for each block, where the block stands in the grid.
pub enum Tiles<const R: usize, const C: usize> {}
/// A tile of `R` × `C` for each block, mirrored: what a transpose writes.
pub enum Mirrored<const R: usize, const C: usize> {}
/// A row for each block.
pub enum Rows {}

impl<const R: usize, const C: usize> Sealed for Tiles<R, C> {}
impl<const R: usize, const C: usize> Sealed for Mirrored<R, C> {}
impl Sealed for Rows {}

impl<const R: usize, const C: usize> MatrixMap for Tiles<R, C> {
    fn demand(rows: usize, cols: usize) -> Demand {
        const { assert!(R > 0 && C > 0, "a tile has rows and columns") }
        [Axis::Exactly(cols.div_ceil(C)), Axis::Exactly(rows.div_ceil(R)), Axis::Exactly(1)]
    }
}
impl<const R: usize, const C: usize> MatrixMap for Mirrored<R, C> {
    fn demand(rows: usize, cols: usize) -> Demand {
        const { assert!(R > 0 && C > 0, "a tile has rows and columns") }
        [Axis::Exactly(rows.div_ceil(R)), Axis::Exactly(cols.div_ceil(C)), Axis::Exactly(1)]
    }
}
impl MatrixMap for Rows {
    fn demand(rows: usize, _: usize) -> Demand {
        line(Axis::Exactly(rows))
    }
}

impl<T: Element, M> MatrixMut<T, M> {
    /// # Safety
    /// rows × cols elements lie there, nothing else reaches them while the kernel runs, and the grid is the one that the map asks
    /// for.
    #[inline(always)]
    pub(crate) unsafe fn from_raw(first: *mut T, [rows, cols]: [u32; 2]) -> Self {
        Self { first, rows, cols, map: PhantomData }
    }

    /// How many rows it has.
    #[inline(always)]
    pub fn rows(&self) -> usize {
        self.rows as usize
    }

    /// How many columns it has.
    #[inline(always)]
    pub fn cols(&self) -> usize {
        self.cols as usize
    }

    /// The end of a row.
    #[inline(always)]
    fn extent(&self) -> usize {
        self.cols()
    }

    /// Where an element lies, unless it is outside.
    #[inline(always)]
    fn place(&self, (row, col): (usize, usize)) -> Option<*mut T> {
        // SAFETY: it is inside.
        (row < self.rows() && col < self.cols()).then(|| unsafe { self.first.add(row * self.cols() + col) })
    }
}

writes! {
    MatrixMut:
    impl[const R: usize, const C: usize] Tiles<R, C>, (usize, usize): |block, t, _, visit| {
        let (row, col) = (block.y() * R, block.x() * C);
        elements::<R, C, W, H, D>(t, |y, x| visit((y, x), (row + y, col + x)));
    };
    impl[const R: usize, const C: usize] Mirrored<R, C>, (usize, usize): |block, t, _, visit| {
        let (row, col) = (block.x() * R, block.y() * C);
        elements::<R, C, W, H, D>(t, |y, x| visit((y, x), (row + y, col + x)));
    };
    impl[] Rows, usize: |block, t, cols, visit| {
        let mut col = t.index();
        while col < cols {
            visit(col, (block.x(), col));
            col += Block::<W, H, D>::THREADS;
        }
    };
}
