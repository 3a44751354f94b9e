//! Matrices that are written.

use core::marker::PhantomData;

use super::Sealed;
use crate::fingerprint::word;
use crate::grid::{BlockCount, GridRequirement, MatrixMap, line};
use crate::own::elements;
use crate::{Block, Element, Linear, Thread, linear};

/// A row-major matrix in global memory that a kernel writes, divided among blocks and threads by the map `M`. On the host it is
/// a `&mut DeviceMatrix<T>`, and the map decides the grid of the launch.
///
/// | map | the part of block (x, y) | what a thread is given |
/// | --- | --- | --- |
/// | [`Tiles<R, C>`](Tiles) | `R` × `C` from row y · `R` and column x · `C` | row and column in the tile |
/// | [`Mirrored<R, C>`](Mirrored) | `R` × `C` from row x · `R` and column y · `C` | row and column in the tile |
/// | [`Turned<R, C>`](Turned) | as of `Mirrored<R, C>`, its columns dealt as else its rows | row and column in the tile |
/// | [`Registers<R, C, M, N, V>`](Registers) | as of `Tiles<R, C>` | row and column among the thread's own `M` × `N` |
/// | [`Linear<R, C, X, Y, K>`](Linear) | as of `Tiles<R, C>`, dealt as the constants say | row and column in the tile |
/// | [`Rows`] | row x | the column |
///
/// ```
/// # use blockwise::prelude::*;
/// /// Each row divided by its first element, a block for each.
/// #[kernel]
/// #[requires(from.rows() == to.rows(), from.cols() == to.cols())]
/// pub fn by_the_first(block: Block<128>, from: Matrix<f32>, mut to: MatrixMut<f32, Rows>) {
///     let row = block.x();
///     to.write(&block, |_, col| from.at(row, col) / from.at(row, 0));
/// }
/// ```
/// Elements of other threads cannot be read, since they may or may not have been written: a kernel that needs them is two kernels.
///
/// ```compile_fail,E0599
/// # use blockwise::prelude::*;
/// # #[kernel]
/// # pub fn wrong(block: Block<128>, mut to: MatrixMut<f32, Rows>) {
/// to.write(&block, |_, col| to.at(block.x(), col - 1));
/// # }
/// ```
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
/// As [`Mirrored`], and threads that are neighbours along x own neighbours of a column: what a transpose writes that does not go
/// through shared memory.
pub enum Turned<const R: usize, const C: usize> {}
/// A tile of `R` × `C` for each block, of which each thread has `M` × `N` elements, in squares of `V` × `V`: what a thread
/// computes in its registers. The squares of neighbouring threads are neighbours.
///
/// ```
/// # use blockwise::prelude::*;
/// /// The products of each element of a column with each of a row: a thread loads 4 + 4 numbers for 16 products.
/// #[kernel]
/// pub fn outer(block: Block<16, 16>, a: &[f32], b: &[f32], mut c: MatrixMut<f32, Registers<64, 64, 4, 4>>) {
///     let (row, col) = (block.y() * 64, block.x() * 64);
///     let get = |x: &[f32], i: usize| x.get(i).copied().unwrap_or(0.0);
///     let own = block.each(|t| {
///         let places = [0, 1, 2, 3].map(|i| 16 * i);
///         (places.map(|i| get(a, row + i + t.y())), places.map(|i| get(b, col + i + t.x())))
///     });
///     c.write(&block, |t, (r, c)| own.of(t).0[r] * own.of(t).1[c]);
/// }
/// ```
/// A thread is told the row and the column among its own elements, not a number:
///
/// ```compile_fail,E0277
/// # use blockwise::prelude::*;
/// # #[kernel]
/// # pub fn wrong(block: Block<16, 16>, mut c: MatrixMut<f32, Registers<64, 64, 4, 4>>) {
/// let own = block.each(|_| [0.0; 16]);
/// c.write(&block, |t, i| own.of(t)[i]);
/// # }
/// ```
pub enum Registers<const R: usize, const C: usize, const M: usize, const N: usize, const V: usize = 1> {}
/// A row for each block.
pub enum Rows {}

impl<const R: usize, const C: usize> Sealed for Tiles<R, C> {}
impl<const R: usize, const C: usize> Sealed for Mirrored<R, C> {}
impl<const R: usize, const C: usize> Sealed for Turned<R, C> {}
impl<const R: usize, const C: usize, const M: usize, const N: usize, const V: usize> Sealed
    for Registers<R, C, M, N, V>
{
}
impl Sealed for Rows {}

impl<const R: usize, const C: usize> MatrixMap for Tiles<R, C> {
    const NUMBERS: [u64; 3] = [word("Tiles"), R as u64, C as u64];

    fn grid_requirement(rows: usize, cols: usize) -> GridRequirement {
        const { assert!(R > 0 && C > 0, "a tile has rows and columns") }
        [BlockCount::Exactly(cols.div_ceil(C)), BlockCount::Exactly(rows.div_ceil(R)), BlockCount::Exactly(1)]
    }
}
impl<const R: usize, const C: usize> MatrixMap for Mirrored<R, C> {
    const NUMBERS: [u64; 3] = [word("Mirrored"), R as u64, C as u64];

    fn grid_requirement(rows: usize, cols: usize) -> GridRequirement {
        const { assert!(R > 0 && C > 0, "a tile has rows and columns") }
        [BlockCount::Exactly(rows.div_ceil(R)), BlockCount::Exactly(cols.div_ceil(C)), BlockCount::Exactly(1)]
    }
}
impl<const R: usize, const C: usize> MatrixMap for Turned<R, C> {
    const NUMBERS: [u64; 3] = [word("Turned"), R as u64, C as u64];

    fn grid_requirement(rows: usize, cols: usize) -> GridRequirement {
        Mirrored::<R, C>::grid_requirement(rows, cols)
    }
}
impl<const R: usize, const C: usize, const M: usize, const N: usize, const V: usize> MatrixMap
    for Registers<R, C, M, N, V>
{
    // What a thread owns of the block's part decides nothing on the host.
    const NUMBERS: [u64; 3] = [word("Register"), R as u64, C as u64];

    fn grid_requirement(rows: usize, cols: usize) -> GridRequirement {
        Tiles::<R, C>::grid_requirement(rows, cols)
    }
}
impl MatrixMap for Rows {
    const NUMBERS: [u64; 3] = [word("Rows"), 0, 0];

    fn grid_requirement(rows: usize, _: usize) -> GridRequirement {
        line(BlockCount::Exactly(rows))
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

    /// Its number of rows.
    #[inline(always)]
    pub fn rows(&self) -> usize {
        self.rows as usize
    }

    /// Its number of columns.
    #[inline(always)]
    pub fn cols(&self) -> usize {
        self.cols as usize
    }

    /// The end of a row.
    #[inline(always)]
    fn extent(&self) -> usize {
        self.cols()
    }

    /// The address of an element, unless it is outside.
    #[inline(always)]
    fn place(&self, (row, col): (usize, usize)) -> Option<*mut T> {
        // SAFETY: it is inside.
        ((row < self.rows()) & (col < self.cols()))
            .then(|| unsafe { self.first.add(row * self.cols() + col) })
    }
}

writes! {
    MatrixMut:
    impl[const R: usize, const C: usize] Tiles<R, C>, (usize, usize): |block, t, _, visit| {
        let (row, col) = (block.y() * R, block.x() * C);
        elements::<R, C, 1, W, H, D>(t, |y, x| visit((y, x), (row + y, col + x)));
    };
    impl[const R: usize, const C: usize] Mirrored<R, C>, (usize, usize): |block, t, _, visit| {
        let (row, col) = (block.x() * R, block.y() * C);
        elements::<R, C, 1, W, H, D>(t, |y, x| visit((y, x), (row + y, col + x)));
    };
    impl[const R: usize, const C: usize] Turned<R, C>, (usize, usize): |block, t, _, visit| {
        let (row, col) = (block.x() * R, block.y() * C);
        elements::<C, R, 1, W, H, D>(t, |x, y| visit((y, x), (row + y, col + x)));
    };
    impl[const R: usize, const C: usize, const M: usize, const N: usize, const V: usize] Registers<R, C, M, N, V>, (usize, usize):
    |block, t, _, visit| {
        const {
            assert!(
                D == 1 && R == M * H && C == N * W,
                "the block's tile is what its threads have: `M` rows for each along y, `N` columns for each along x"
            );
            assert!(M.is_multiple_of(V) && N.is_multiple_of(V), "a thread has whole squares");
        }
        let (row, col) = (block.y() * R + t.y() * V, block.x() * C + t.x() * V);
        for r in 0..M {
            cuda_std::unroll!(full);
            for c in 0..N {
                cuda_std::unroll!(full);
                visit((r, c), (row + r / V * (V * H) + r % V, col + c / V * (V * W) + c % V));
            }
        }
    };
    impl[const R: usize, const C: usize, const X: usize, const Y: usize, const K: usize] Linear<R, C, X, Y, K>, (usize, usize):
    |block, t, _, visit| {
        let (row, col) = (block.y() * R, block.x() * C);
        linear::elements::<R, C, X, Y, K, W, H, D>(t, |y, x| visit((y, x), (row + y, col + x)));
    };
    impl[] Rows, usize: |block, t, cols, visit| {
        let mut col = t.index();
        while col < cols {
            visit(col, (block.x(), col));
            col += Block::<W, H, D>::THREADS;
        }
    };
}
