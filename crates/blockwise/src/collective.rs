//! Reductions and scans over the values of a block's threads.

use crate::lane::Lane;
use crate::{Block, Element, PerThread};

/// Memory for what a block makes of its threads' values, a `#[shared]` parameter: an element for each of up to 32 warps.
///
/// It may be used again at once: then the block waits before it, and not after the last time.
///
/// ```
/// # use blockwise::prelude::*;
/// /// The elements of each part of 256 that are above the part's mean.
/// #[kernel]
/// #[requires(x.len() == above.len())]
/// pub fn above_the_mean(block: Block<256>, #[shared] mut scratch: Scratch<f32>, x: &[f32], mut above: SliceMut<f32>) {
///     let first = block.x() * 256;
///     let own = block.each(|t| x.get(first + t.x()).copied().unwrap_or(0.0));
///     let count = block.reduce(&mut scratch, &block.each(|t| (first + t.x() < x.len()) as u32 as f32), |a, b| a + b);
///     let mean = block.reduce(&mut scratch, &own, |a, b| a + b) / count;
///     above.write(&block, |t, _| (own.of(t) - mean).max(0.0));
/// }
/// ```
/// A thread cannot use it: the others would not leave their values there.
///
/// ```compile_fail,E0596
/// # use blockwise::prelude::*;
/// # #[kernel]
/// # pub fn wrong(block: Block<256>, #[shared] mut scratch: Scratch<u32>) {
/// block.each(|t| {
///     let mine = &mut scratch;
///     0
/// });
/// # }
/// ```
pub struct Scratch<T> {
    first: *mut T,
    /// Whether threads may still read what was left there. The same for all of them.
    is_read: bool,
}

impl<T: Element> Scratch<T> {
    pub(crate) const LEN: usize = {
        assert!(size_of::<T>() > 0, "what warps leave has a size");
        32
    };

    /// # Safety
    /// `LEN` elements of shared memory lie there, and nothing else uses them.
    #[inline(always)]
    pub(crate) unsafe fn from_raw(first: *mut T) -> Self {
        Self { first, is_read: false }
    }
}

/// The result of [`Block::scan`].
///
/// ```
/// # use blockwise::prelude::*;
/// /// Sums of the elements before each, within its block.
/// #[kernel]
/// #[requires(x.len() == sums.len())]
/// pub fn sums_before(block: Block<256>, #[shared] mut scratch: Scratch<u32>, x: &[u32], mut sums: SliceMut<u32>) {
///     let first = block.x() * 256;
///     let values = block.each(|t| x.get(first + t.x()).copied().unwrap_or(0));
///     let scan = block.scan(&mut scratch, &values, 0, |a, b| a + b);
///     sums.write(&block, |t, _| scan.exclusive.of(t));
/// }
/// ```
/// All threads take part, so it is asked for at the level of the block:
///
/// ```compile_fail,E0277
/// # use blockwise::prelude::*;
/// # #[kernel]
/// # pub fn wrong(block: Block<256>, #[shared] mut scratch: Scratch<u32>) {
/// let values = block.each(|t| t.x() as u32);
/// block.each(|t| if t.x() == 0 { block.warps(|warp| warp.exchange(&values, 1)); });
/// # }
/// ```
pub struct Scan<T> {
    /// Of the threads before this one, and it.
    pub inclusive: PerThread<T>,
    /// Of the threads before this one.
    pub exclusive: PerThread<T>,
    /// Of all: the same for the block.
    pub total: T,
}

/// The values of a block's warps, after a barrier.
struct Totals<T>(*mut T);

impl<T: Element> Totals<T> {
    #[inline(always)]
    fn of(&self, warp: usize) -> T {
        // SAFETY: every warp's element was written before the last barrier, and is not written again before the next one.
        unsafe { *self.0.add(warp) }
    }
}

impl<const W: usize, const H: usize, const D: usize> Block<W, H, D> {
    const WARPS: usize = W * H * D / 32;

    /// One value of all threads' values, the same for the block, by an operation that may be done in any order.
    ///
    /// ```
    /// # use blockwise::prelude::*;
    /// #[kernel]
    /// pub fn sums(block: Block<256>, #[shared] mut scratch: Scratch<f32>, x: &[f32], mut sums: SliceMut<f32, Part<1>>) {
    ///     let first = block.x() * 256;
    ///     let values = block.each(|t| x.get(first + t.index()).copied().unwrap_or(0.0));
    ///     let sum = block.reduce(&mut scratch, &values, |a, b| a + b);
    ///     sums.write(&block, |_, _| sum);
    /// }
    /// ```
    #[inline(always)]
    pub fn reduce<T: Lane>(
        &self,
        scratch: &mut Scratch<T>,
        values: &PerThread<T>,
        combine: impl Fn(T, T) -> T + Sync,
    ) -> T {
        // SAFETY: this is the level of the block: every lane comes by.
        let of_warp = unsafe { self.warp().reduce_to_first(values, &combine) };
        self.exchange_warps(scratch, 0, of_warp, |totals| {
            let mut all = totals.of(0);
            for warp in 1..Self::WARPS {
                all = combine(all, totals.of(warp));
            }
            all
        })
    }

    /// The scan of the threads' values, in the order of their numbers. `zero` changes
    /// nothing, and `combine` is associative.
    #[inline(always)]
    pub fn scan<T: Lane>(
        &self,
        scratch: &mut Scratch<T>,
        values: &PerThread<T>,
        zero: T,
        combine: impl Fn(T, T) -> T + Sync,
    ) -> Scan<T> {
        let warp = self.warp();
        let lane = self.thread().index() % 32;
        let mut inclusive = values.open();
        for bit in 0..5 {
            // SAFETY: this is the level of the block: every lane comes by.
            let before = unsafe { inclusive.before(1 << bit) };
            if lane >= 1 << bit {
                inclusive = combine(before, inclusive);
            }
        }
        // SAFETY: as above.
        let before = unsafe { inclusive.before(1) };
        let exclusive = if lane == 0 { zero } else { before };
        let index = warp.index();
        let (earlier, total) = self.exchange_warps(scratch, 31, inclusive, |totals| {
            let (mut earlier, mut total) = (zero, zero);
            for warp in 0..Self::WARPS {
                if warp == index {
                    earlier = total;
                }
                total = combine(total, totals.of(warp));
            }
            (earlier, total)
        });
        Scan {
            inclusive: PerThread::new(combine(earlier, inclusive)),
            exclusive: PerThread::new(combine(earlier, exclusive)),
            total,
        }
    }

    /// Puts each warp's value, which one of its lanes has, into shared memory, and reads what is asked for of them.
    #[inline(always)]
    fn exchange_warps<T: Element, R>(
        &self,
        scratch: &mut Scratch<T>,
        lane: usize,
        of_warp: T,
        read: impl FnOnce(Totals<T>) -> R,
    ) -> R {
        if scratch.is_read {
            self.wait();
        }
        let thread = self.thread().index();
        if thread % 32 == lane {
            // SAFETY: there are at most 32 warps, each has an element, and no thread reads them any more.
            unsafe { *scratch.first.add(thread / 32) = of_warp };
        }
        self.wait();
        scratch.is_read = true;
        read(Totals(scratch.first))
    }
}
