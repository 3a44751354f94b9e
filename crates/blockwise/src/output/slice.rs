//! Slices that are written.

use core::marker::PhantomData;

use super::Sealed;
use crate::fingerprint::word;
use crate::grid::{BlockCount, GridRequirement, SliceMap, line};
use crate::own::elements;
use crate::{Block, Element, Linear, Thread, linear};

/// A slice in global memory that a kernel writes, divided among threads by the map `M`. On the host it is a
/// `&mut Buffer<T>`, and the map decides the grid of the launch.
///
/// | map | who owns element *i* |
/// | --- | --- |
/// | [`OneEach`] | thread *i* of the grid |
/// | [`Strided`] | thread *i* mod the number of threads: any number of blocks will do |
/// | [`Part<N>`](Part) | block *i* / `N`: its threads by turns |
/// | [`Linear<1, N, X, Y, K>`](Linear) | block *i* / `N`: its threads as the constants say |
///
/// ```
/// # use blockwise::prelude::*;
/// /// Twice each element, by as many blocks as the launch chooses.
/// #[kernel]
/// #[requires(from.len() == to.len())]
/// pub fn doubled(block: Block<256>, from: &[f32], mut to: SliceMut<f32, Strided>) {
///     to.write(&block, |_, i| 2.0 * from[i]);
/// }
/// ```
/// There is one map for one output: by two of them an element would have two owners.
///
/// ```compile_fail,E0308
/// # use blockwise::prelude::*;
/// # #[kernel]
/// # pub fn wrong(block: Block<256>, mut to: SliceMut<f32, Strided>) {
/// let mut parts: SliceMut<f32, Part<256>> = to;
/// # }
/// ```
pub struct SliceMut<T, M = OneEach> {
    first: *mut T,
    len: usize,
    map: PhantomData<M>,
}

// SAFETY: a thread asks its length only; elements are reached through the block.
unsafe impl<T: Element, M> Sync for SliceMut<T, M> {}

/// One element a thread, in order.
pub enum OneEach {}
/// Each thread takes every so-manieth element: a loop over the grid, of as many blocks as the launch chooses.
pub enum Strided {}
/// `N` neighbouring elements a block: one for a sum, as many as threads or a multiple for a scan.
pub enum Part<const N: usize> {}

impl Sealed for OneEach {}
impl Sealed for Strided {}
impl<const N: usize> Sealed for Part<N> {}

impl SliceMap for OneEach {
    const NUMBERS: [u64; 3] = [word("OneEach"), 0, 0];

    fn grid_requirement(len: usize, threads: usize) -> GridRequirement {
        line(BlockCount::Exactly(len.div_ceil(threads)))
    }
}
impl SliceMap for Strided {
    const NUMBERS: [u64; 3] = [word("Strided"), 0, 0];

    fn grid_requirement(len: usize, threads: usize) -> GridRequirement {
        line(BlockCount::Suggested(len.div_ceil(threads)))
    }
}
impl<const N: usize> SliceMap for Part<N> {
    const NUMBERS: [u64; 3] = [word("Part"), N as u64, 0];

    fn grid_requirement(len: usize, _: usize) -> GridRequirement {
        const { assert!(N > 0, "a part has elements") }
        line(BlockCount::Exactly(len.div_ceil(N)))
    }
}

impl<T: Element, M> SliceMut<T, M> {
    /// # Safety
    /// `len` elements lie there, nothing else reaches them while the kernel runs, and the grid is one that the map asks for.
    #[inline(always)]
    pub(crate) unsafe fn from_raw(first: *mut T, len: usize) -> Self {
        Self { first, len, map: PhantomData }
    }

    /// Its number of elements.
    #[inline(always)]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Its end.
    #[inline(always)]
    fn extent(&self) -> usize {
        self.len
    }

    /// The address of an element, unless it is beyond the end.
    #[inline(always)]
    fn place(&self, i: usize) -> Option<*mut T> {
        // SAFETY: it is inside.
        (i < self.len).then(|| unsafe { self.first.add(i) })
    }
}

writes! {
    SliceMut:
    impl[] OneEach, usize: |block, t, _, visit| {
        let i = block.x() * Block::<W, H, D>::THREADS + t.long_index();
        visit(i, i);
    };
    impl[] Strided, usize: |block, t, len, visit| {
        let threads = Block::<W, H, D>::THREADS;
        let mut i = block.x() * threads + t.index();
        while i < len {
            visit(i, i);
            i += threads * block.grid()[0];
        }
    };
    impl[const N: usize] Part<N>, usize: |block, t, _, visit| {
        let first = block.x() * N;
        elements::<1, N, 1, W, H, D>(t, |_, i| visit(first + i, first + i));
    };
    impl[const R: usize, const C: usize, const X: usize, const Y: usize, const K: usize] Linear<R, C, X, Y, K>, usize: |block, t, _, visit| {
        let first = block.x() * R * C;
        linear::elements::<R, C, X, Y, K, W, H, D>(t, |row, col| visit(first + row * C + col, first + row * C + col));
    };
}
