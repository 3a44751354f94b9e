//! Several fragments of one warp.

use super::ops::LoadMatrixA;
use super::shape::layout::Row;
use super::stride::{StrideValidator, ValidStride};
use super::{
    Accumulator, AccumulatorElement, Layout, MatrixA, MatrixB, MatrixElement, MmaWithShapeAndLayout,
    TensorCoreShape, WmmaShape,
};
use core::array;
use core::marker::PhantomData;
use core::ops::{Index, IndexMut};
use core::slice::{Iter, IterMut};

/// Fragments in a row.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct FragmentArray<T, const N: usize> {
    fragments: [T; N],
}

impl<T, const N: usize> FragmentArray<T, N> {
    /// Of these.
    #[inline(always)]
    pub const fn new(fragments: [T; N]) -> Self {
        Self { fragments }
    }

    /// Each of them.
    #[inline(always)]
    pub fn iter(&self) -> Iter<'_, T> {
        self.fragments.iter()
    }

    /// Each of them, mutably.
    #[inline(always)]
    pub fn iter_mut(&mut self) -> IterMut<'_, T> {
        self.fragments.iter_mut()
    }

    /// Another of each.
    #[inline(always)]
    pub fn map<U, F: FnMut(T) -> U>(self, f: F) -> FragmentArray<U, N> {
        FragmentArray::new(self.fragments.map(f))
    }

    /// One of each pair.
    #[inline(always)]
    pub fn zip_with<U, V, F: FnMut(&T, &U) -> V>(
        &self,
        other: &FragmentArray<U, N>,
        mut f: F,
    ) -> FragmentArray<V, N> {
        FragmentArray::new(array::from_fn(|i| f(&self.fragments[i], &other.fragments[i])))
    }
}

impl<T, const N: usize> Index<usize> for FragmentArray<T, N> {
    type Output = T;

    #[inline(always)]
    fn index(&self, index: usize) -> &T {
        &self.fragments[index]
    }
}

impl<T, const N: usize> IndexMut<usize> for FragmentArray<T, N> {
    #[inline(always)]
    fn index_mut(&mut self, index: usize) -> &mut T {
        &mut self.fragments[index]
    }
}

impl<T: Default, const N: usize> Default for FragmentArray<T, N> {
    #[inline(always)]
    fn default() -> Self {
        Self::new(array::from_fn(|_| T::default()))
    }
}

/// Fragments in rows and columns.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct FragmentGrid<T, const ROWS: usize, const COLS: usize> {
    grid: [[T; COLS]; ROWS],
}

impl<T, const ROWS: usize, const COLS: usize> FragmentGrid<T, ROWS, COLS> {
    /// Of these.
    #[inline(always)]
    pub const fn new(grid: [[T; COLS]; ROWS]) -> Self {
        Self { grid }
    }

    /// One of them.
    #[inline(always)]
    pub fn tile(&self, row: usize, col: usize) -> &T {
        &self.grid[row][col]
    }

    /// One of them, mutably.
    #[inline(always)]
    pub fn tile_mut(&mut self, row: usize, col: usize) -> &mut T {
        &mut self.grid[row][col]
    }

    /// A row.
    #[inline(always)]
    pub fn row(&self, row: usize) -> &[T; COLS] {
        &self.grid[row]
    }

    /// A row, to be changed.
    #[inline(always)]
    pub fn row_mut(&mut self, row: usize) -> &mut [T; COLS] {
        &mut self.grid[row]
    }

    /// Each of them, row by row.
    #[inline(always)]
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.grid.iter().flatten()
    }

    /// Another of each.
    #[inline(always)]
    pub fn map<U, F: FnMut(&T) -> U>(&self, mut f: F) -> FragmentGrid<U, ROWS, COLS> {
        FragmentGrid::new(array::from_fn(|row| array::from_fn(|col| f(&self.grid[row][col]))))
    }
}

impl<T, const ROWS: usize, const COLS: usize> Index<(usize, usize)> for FragmentGrid<T, ROWS, COLS> {
    type Output = T;

    #[inline(always)]
    fn index(&self, (row, col): (usize, usize)) -> &T {
        self.tile(row, col)
    }
}

impl<T, const ROWS: usize, const COLS: usize> IndexMut<(usize, usize)> for FragmentGrid<T, ROWS, COLS> {
    #[inline(always)]
    fn index_mut(&mut self, (row, col): (usize, usize)) -> &mut T {
        self.tile_mut(row, col)
    }
}

impl<T: Default, const ROWS: usize, const COLS: usize> Default for FragmentGrid<T, ROWS, COLS> {
    #[inline(always)]
    fn default() -> Self {
        Self::new(array::from_fn(|_| array::from_fn(|_| T::default())))
    }
}

/// Makes arrays and grids of A.
#[derive(Debug, Clone, Copy)]
pub struct FragmentBuilder<T, S, L = Row>(PhantomData<(T, S, L)>);

impl<T: MatrixElement, S: TensorCoreShape, L: Layout> FragmentBuilder<T, S, L> {
    /// An array of zeros.
    #[inline(always)]
    pub fn array<const N: usize>() -> FragmentArray<MatrixA<T, S, L>, N> {
        Default::default()
    }

    /// A grid of zeros.
    #[inline(always)]
    pub fn grid<const R: usize, const C: usize>() -> FragmentGrid<MatrixA<T, S, L>, R, C> {
        Default::default()
    }
}

/// Loads several fragments.
pub trait BatchLoad<const STRIDE: usize>: Sized {
    /// Loads them from `ptr`, with `offset` bytes between the starts of consecutive ones.
    ///
    /// # Safety
    ///
    /// As for the fragments' own `load`.
    unsafe fn load_batch(&mut self, ptr: *const u8, offset: usize);
}

/// Stores several fragments.
pub trait BatchStore<const STRIDE: usize>: Sized {
    /// Stores them to `ptr`, with `offset` bytes between the starts of consecutive ones.
    ///
    /// # Safety
    ///
    /// As for the fragments' own `store`.
    unsafe fn store_batch(&self, ptr: *mut u8, offset: usize);
}

impl<T, S, L, const N: usize, const STRIDE: usize> BatchLoad<STRIDE> for FragmentArray<MatrixA<T, S, L>, N>
where
    T: LoadMatrixA<S, L>,
    S: WmmaShape,
    L: Layout,
    StrideValidator<T, STRIDE>: ValidStride,
{
    #[inline(always)]
    unsafe fn load_batch(&mut self, ptr: *const u8, offset: usize) {
        for (i, fragment) in self.fragments.iter_mut().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { fragment.load::<STRIDE>(ptr.add(i * offset).cast()) };
        }
    }
}

/// Multiplies several fragments.
pub trait BatchMma<A, B>: Sized {
    /// The result.
    type Output;

    /// Each `a` · `b` + each of these.
    fn mma_batch(self, a: &A, b: &B) -> Self::Output;
}

impl<E, T, S, LA, LB, const N: usize>
    BatchMma<FragmentArray<MatrixA<E, S, LA>, N>, FragmentArray<MatrixB<E, S, LB>, N>>
    for FragmentArray<Accumulator<T, S>, N>
where
    E: MatrixElement,
    T: AccumulatorElement + MmaWithShapeAndLayout<E, E, T, S, LA, LB, Output = T>,
    S: TensorCoreShape,
    LA: Layout,
    LB: Layout,
{
    type Output = Self;

    #[inline(always)]
    fn mma_batch(
        self,
        a: &FragmentArray<MatrixA<E, S, LA>, N>,
        b: &FragmentArray<MatrixB<E, S, LB>, N>,
    ) -> Self {
        Self::new(array::from_fn(|i| self[i].mma(&a[i], &b[i])))
    }
}

/// How a warp's tile is divided: M×N accumulators, over K steps.
#[derive(Debug, Clone, Copy)]
pub struct TilePattern<const M_TILES: usize, const N_TILES: usize, const K_TILES: usize>;

impl<const M: usize, const N: usize, const K: usize> TilePattern<M, N, K> {
    /// The fragments of A, B and C.
    #[inline(always)]
    #[allow(clippy::type_complexity)]
    pub fn create_fragments<E: MatrixElement, T: AccumulatorElement, S: TensorCoreShape>() -> (
        FragmentGrid<MatrixA<E, S, Row>, M, K>,
        FragmentGrid<MatrixB<E, S, Row>, K, N>,
        FragmentGrid<Accumulator<T, S>, M, N>,
    ) {
        Default::default()
    }
}

/// 2×8 fragments.
pub type FlashAttentionTiles<T> = FragmentGrid<T, 2, 8>;
/// 4×4 fragments.
pub type GemmTiles<T> = FragmentGrid<T, 4, 4>;
/// Fragments of one row.
pub type FragmentRow<T, const N: usize> = FragmentArray<T, N>;
/// Fragments of one column.
pub type FragmentCol<T, const N: usize> = FragmentArray<T, N>;
