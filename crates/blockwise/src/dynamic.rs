//! Tiles whose extents are chosen at launch, in dynamic shared memory.

use core::marker::PhantomData;

use cuda_std::mem::dynamic_smem_size;
use cuda_std::shared::dynamic_shared_mem;

use crate::phase::{NO_COPIES, Reuse, Sealed, Share};
use crate::tile::{Empty, Filled, Shared};
use crate::{Block, Element, Thread};

/// The dynamic shared memory of a launch: a `#[shared]` parameter, one for a kernel, which is divided into tiles.
///
/// The launch says its size (`warpsmith_launch::LaunchOptions::shared`). Too little of it panics.
///
/// ```
/// # use blockwise::prelude::*;
/// /// Sums over windows whose length the launch chooses.
/// #[kernel]
/// #[requires(x.len() >= sums.len() + window)]
/// pub fn windows(block: Block<256>, #[shared] memory: Dynamic<f32>, window: u32, x: &[f32], mut sums: SliceMut<f32>) {
///     let (first, window) = (block.x() * 256, window as usize);
///     let (tile, _) = memory.tile(1, 256 + window);
///     let tile = block.share(tile.fill(&block, |_, (_, i)| x.get(first + i).copied().unwrap_or(0.0)));
///     sums.write(&block, |t, _| tile.along(0).skip(t.x()).take(window).sum());
/// }
/// ```
/// There is one such memory, and it is divided by value: two tiles of one part would be the same memory twice.
///
/// ```compile_fail,E0382
/// # use blockwise::prelude::*;
/// # #[kernel]
/// # pub fn wrong(block: Block<256>, #[shared] memory: Dynamic<f32>) {
/// let (tile, _) = memory.tile(1, 256);
/// let (again, _) = memory.tile(1, 256);
/// # }
/// ```
pub struct Dynamic<T> {
    first: *mut T,
    len: usize,
}

/// A tile whose extents are chosen at launch, row by row, with the phases of a [`Tile`](crate::Tile).
///
/// ```
/// # use blockwise::prelude::*;
/// /// The sum of each column of a part as deep as the launch chooses.
/// #[kernel]
/// #[requires(x.cols() == sums.cols())]
/// pub fn columns(block: Block<32, 8>, #[shared] memory: Dynamic<f32>, depth: u32, x: Matrix<f32>, mut sums: MatrixMut<f32, Tiles<1, 32>>) {
///     let (first, depth, col) = (block.y() * depth as usize, depth as usize, block.x() * 32);
///     let (tile, _) = memory.tile(depth, 32);
///     let tile = block.share(tile.fill(&block, |_, (y, i)| x.get_or(first + y, col + i, 0.0)));
///     sums.write(&block, |_, (_, i)| tile.down(i).sum());
/// }
/// ```
/// The elements of a row are read while the tile is shared, and not kept for later:
///
/// ```compile_fail,E0505
/// # use blockwise::prelude::*;
/// # #[kernel]
/// # pub fn wrong(block: Block<256>, #[shared] memory: Dynamic<u32>) {
/// let (tile, _) = memory.tile(1, 256);
/// let shared = block.share(tile.fill(&block, |t, _| t.x() as u32));
/// let row = shared.along(0);
/// let tile = block.reuse(shared); // threads may write here from now on
/// let sum: u32 = row.sum();
/// # }
/// ```
pub struct DynamicTile<T, P = Empty> {
    first: *mut T,
    rows: u32,
    cols: u32,
    phase: PhantomData<P>,
}

// SAFETY: in this phase elements are read only.
unsafe impl<T: Element> Sync for DynamicTile<T, Shared> {}

impl<T: Element> Dynamic<T> {
    /// # Safety
    /// Nothing else uses the dynamic shared memory.
    #[inline(always)]
    pub(crate) unsafe fn all() -> Self {
        const { assert!(size_of::<T>() > 0, "the elements of a tile have a size") }
        const { assert!(align_of::<T>() <= 128, "dynamic shared memory is aligned to 128 bytes") }
        Self { first: dynamic_shared_mem(), len: dynamic_smem_size() as usize / size_of::<T>() }
    }

    /// The number of elements that there is room for.
    #[inline(always)]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// A tile at its beginning, and the rest. Panics if there is not enough.
    #[inline(always)]
    #[track_caller]
    pub fn tile(self, rows: usize, cols: usize) -> (DynamicTile<T>, Self) {
        let len = rows.checked_mul(cols).filter(|len| *len <= self.len);
        let len = len.expect("the launch gives less dynamic shared memory than the tiles need");
        // There are fewer than 2³² bytes, but a tile without elements may have any number of rows or columns.
        let [rows, cols] = if len == 0 { [0, 0] } else { [rows as u32, cols as u32] };
        // SAFETY: the rest begins within the memory, or at its end.
        let rest = Self { first: unsafe { self.first.add(len) }, len: self.len - len };
        (DynamicTile { first: self.first, rows, cols, phase: PhantomData }, rest)
    }
}

impl<T: Element, P> DynamicTile<T, P> {
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

    #[inline(always)]
    fn in_phase<Q>(self) -> DynamicTile<T, Q> {
        DynamicTile { first: self.first, rows: self.rows, cols: self.cols, phase: PhantomData }
    }
}

impl<T: Element> DynamicTile<T, Empty> {
    /// Each thread computes the elements that are its own, from their rows and columns in the tile.
    ///
    /// As in a [`Tile`](crate::Tile): where the block is as wide as the tile a thread stays in its column, else elements are dealt
    /// in order.
    #[inline(always)]
    pub fn fill<const W: usize, const H: usize, const D: usize>(
        self,
        block: &Block<W, H, D>,
        element: impl for<'t> Fn(Thread<'t, W, H, D>, (usize, usize)) -> T + Sync,
    ) -> DynamicTile<T, Filled> {
        let t = block.thread();
        for turn in 0..self.turns::<W, H, D>() {
            if let Some((i, place)) = self.own(t, turn) {
                let value = element(t, place);
                // SAFETY: the element is inside the tile, and this thread's alone until the next barrier.
                unsafe { *self.first.add(i as usize) = value };
            }
        }
        self.in_phase()
    }

    /// Fills two tiles, as [`fill`](Self::fill) does each: a thread asks for an element of either before it stores one, so that
    /// memory is waited for once, not twice.
    ///
    /// ```
    /// # use blockwise::prelude::*;
    /// # #[kernel]
    /// # pub fn example(block: Block<256>, #[shared] memory: Dynamic<f32>, a: &[f32], b: &[f32]) {
    /// let (first, rest) = memory.tile(1, 512);
    /// let (second, _) = rest.tile(2, 256);
    /// let filled = first.fill_both(second, &block, |_, (_, i)| a[i], |_, (y, x)| b[256 * y + x]);
    /// let (first, second) = block.share(filled);
    /// # }
    /// ```
    #[inline(always)]
    pub fn fill_both<U: Element, const W: usize, const H: usize, const D: usize>(
        self,
        other: DynamicTile<U, Empty>,
        block: &Block<W, H, D>,
        element: impl for<'t> Fn(Thread<'t, W, H, D>, (usize, usize)) -> T + Sync,
        other_element: impl for<'t> Fn(Thread<'t, W, H, D>, (usize, usize)) -> U + Sync,
    ) -> (DynamicTile<T, Filled>, DynamicTile<U, Filled>) {
        let t = block.thread();
        for turn in 0..self.turns::<W, H, D>().max(other.turns::<W, H, D>()) {
            let one = self.own(t, turn).map(|(i, place)| (i, element(t, place)));
            let another = other.own(t, turn).map(|(i, place)| (i, other_element(t, place)));
            if let Some((i, value)) = one {
                // SAFETY: as in `fill`.
                unsafe { *self.first.add(i as usize) = value };
            }
            if let Some((i, value)) = another {
                // SAFETY: as in `fill`.
                unsafe { *other.first.add(i as usize) = value };
            }
        }
        (self.in_phase(), other.in_phase())
    }

    /// The number of elements that the first thread owns, which has most.
    #[inline(always)]
    fn turns<const W: usize, const H: usize, const D: usize>(&self) -> u32 {
        (self.rows * self.cols).div_ceil(Block::<W, H, D>::THREADS as u32)
    }

    /// The element that is this thread's own at a turn: its number, and its row and column. Element i is thread
    /// (i mod the number of threads)'s.
    #[inline(always)]
    fn own<const W: usize, const H: usize, const D: usize>(
        &self,
        t: Thread<'_, W, H, D>,
        turn: u32,
    ) -> Option<(u32, (usize, usize))> {
        let i = t.index() as u32 + turn * Block::<W, H, D>::THREADS as u32;
        // Where the block is as wide as the tile there is no need to divide. A tile without columns has no elements either.
        let place = if self.cols == W as u32 && D == 1 {
            (t.y() + turn as usize * H, t.x())
        } else {
            let cols = self.cols.max(1);
            ((i / cols) as usize, (i % cols) as usize)
        };
        (i < self.rows * self.cols).then_some((i, place))
    }
}

impl<T: Element> DynamicTile<T, Shared> {
    /// The element at a row and a column. Outside of the tile it panics.
    #[inline(always)]
    #[track_caller]
    pub fn at(&self, row: usize, col: usize) -> T {
        assert!(row < self.rows() && col < self.cols(), "there is no such element in the tile");
        // SAFETY: it is inside the tile, every element was filled, and a barrier lies between.
        unsafe { *self.first.add(row * self.cols() + col) }
    }

    /// The elements of a row, one after the other. Outside of the tile it panics.
    #[inline(always)]
    #[track_caller]
    pub fn along(&self, row: usize) -> Elements<'_, T> {
        assert!(row < self.rows(), "there is no such row in the tile");
        self.elements(row * self.cols(), 1, self.cols)
    }

    /// The elements of a column, one after the other. Outside of the tile it panics.
    #[inline(always)]
    #[track_caller]
    pub fn down(&self, col: usize) -> Elements<'_, T> {
        assert!(col < self.cols(), "there is no such column in the tile");
        self.elements(col, self.cols, self.rows)
    }

    #[inline(always)]
    fn elements(&self, from: usize, step: u32, left: u32) -> Elements<'_, T> {
        Elements { at: self.first.wrapping_add(from), step: step as usize, left, tile: PhantomData }
    }
}

/// The elements of a row or a column of a shared [`DynamicTile`].
pub struct Elements<'a, T> {
    at: *const T,
    step: usize,
    left: u32,
    tile: PhantomData<&'a T>,
}

impl<'a, T: Element> Elements<'a, T> {
    /// These elements and those of another row or column side by side, until one has no more: one count for both, so that the loop
    /// is unrolled as if it had a length.
    #[inline(always)]
    pub fn zip<U: Element>(self, other: Elements<'a, U>) -> Pairs<'a, T, U> {
        Pairs { left: self.left.min(other.left), first: self, second: other }
    }

    /// # Safety
    /// There is one more.
    #[inline(always)]
    unsafe fn step(&mut self) -> T {
        // SAFETY: as many steps as the row or the column has elements stay inside of the tile, which all threads read.
        let element = unsafe { *self.at };
        self.at = self.at.wrapping_add(self.step);
        element
    }
}

impl<T: Element> Elements<'_, T> {
    /// Passes over `n` elements, or all that are left, in one step.
    #[inline(always)]
    fn pass(&mut self, n: u32) {
        self.at = self.at.wrapping_add(n as usize * self.step);
        self.left = self.left.saturating_sub(n);
    }
}

impl<T: Element> Iterator for Elements<'_, T> {
    type Item = T;

    #[inline(always)]
    fn next(&mut self) -> Option<T> {
        self.left = self.left.checked_sub(1)?;
        // SAFETY: it was counted.
        Some(unsafe { self.step() })
    }

    #[inline(always)]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }

    /// Goes there in one step: so do `skip` and `step_by`.
    #[inline(always)]
    fn nth(&mut self, n: usize) -> Option<T> {
        self.pass(n.min(self.left as usize) as u32);
        self.next()
    }

    /// A loop without an `Option` to take apart: `for_each` and `sum` go this way.
    #[inline(always)]
    fn fold<A, F: FnMut(A, T) -> A>(mut self, start: A, mut combine: F) -> A {
        let mut all = start;
        while self.left > 0 {
            self.left -= 1;
            // SAFETY: it was counted.
            all = combine(all, unsafe { self.step() });
        }
        all
    }
}

impl<T: Element> ExactSizeIterator for Elements<'_, T> {}

/// The elements of two rows or columns side by side.
pub struct Pairs<'a, T, U> {
    first: Elements<'a, T>,
    second: Elements<'a, U>,
    left: u32,
}

impl<T: Element, U: Element> Iterator for Pairs<'_, T, U> {
    type Item = (T, U);

    #[inline(always)]
    fn next(&mut self) -> Option<(T, U)> {
        self.left = self.left.checked_sub(1)?;
        // SAFETY: both have as many at least.
        Some(unsafe { (self.first.step(), self.second.step()) })
    }

    #[inline(always)]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }

    /// As that of [`Elements`].
    #[inline(always)]
    fn nth(&mut self, n: usize) -> Option<(T, U)> {
        let passed = n.min(self.left as usize) as u32;
        self.first.pass(passed);
        self.second.pass(passed);
        self.left -= passed;
        self.next()
    }

    /// As that of [`Elements`].
    #[inline(always)]
    fn fold<A, F: FnMut(A, (T, U)) -> A>(mut self, start: A, mut combine: F) -> A {
        let mut all = start;
        while self.left > 0 {
            cuda_std::unroll!(16);
            self.left -= 1;
            // SAFETY: as above.
            all = combine(all, unsafe { (self.first.step(), self.second.step()) });
        }
        all
    }
}

impl<T: Element, U: Element> ExactSizeIterator for Pairs<'_, T, U> {}

impl<T, P> Sealed for DynamicTile<T, P> {}

impl<T: Element> Share for DynamicTile<T, Filled> {
    type Shared = DynamicTile<T, Shared>;
    const PENDING: usize = NO_COPIES;
    #[inline(always)]
    unsafe fn shared(self) -> Self::Shared {
        self.in_phase()
    }
}

impl<T: Element> Reuse for DynamicTile<T, Shared> {
    type Empty = DynamicTile<T>;
    #[inline(always)]
    unsafe fn empty(self) -> Self::Empty {
        self.in_phase()
    }
}
