//! What a block makes of the values of all its threads.

use crate::lane::Lane;
use crate::{Block, Element, PerThread, Tile};

/// Memory for what a block makes of its threads' values: an element for each of up to 32 warps.
pub type Scratch<T> = Tile<T, 1, 32>;

/// What [`Block::scan`] makes of the values.
pub struct Scan<T> {
    /// Of the threads before this one, and it.
    pub inclusive: PerThread<T>,
    /// Of the threads before this one.
    pub exclusive: PerThread<T>,
    /// Of all: the same for the block.
    pub total: T,
}

/// The values of a block's warps, between two barriers.
struct Totals<T>(*mut T);

impl<T: Element> Totals<T> {
    #[inline(always)]
    fn of(&self, warp: usize) -> T {
        // SAFETY: every warp's element was written before the first barrier, and is not written again before the second.
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
        let warp = self.warp();
        let of_warp = warp.reduce(values, &combine);
        self.exchange_warps(scratch, of_warp, |totals| {
            let mut all = totals.of(0);
            for warp in 1..Self::WARPS {
                all = combine(all, totals.of(warp));
            }
            all
        })
    }

    /// What each thread's value makes with those of the threads before it, in the order of their numbers. `zero` changes
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
        let (before, of_warp) = unsafe { (inclusive.before(1), inclusive.of_lane(31)) };
        let exclusive = if lane == 0 { zero } else { before };
        let index = warp.index();
        let (earlier, total) = self.exchange_warps(scratch, of_warp, |totals| {
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

    /// Puts each warp's value into shared memory, reads what is asked for of them, and leaves the memory empty.
    #[inline(always)]
    fn exchange_warps<T: Element, R>(
        &self,
        scratch: &mut Scratch<T>,
        of_warp: T,
        read: impl FnOnce(Totals<T>) -> R,
    ) -> R {
        let (first, thread) = (scratch.first(), self.thread().index());
        if thread.is_multiple_of(32) {
            // SAFETY: there are at most 32 warps, each has an element, and the scratch is empty.
            unsafe { *first.add(thread / 32) = of_warp };
        }
        self.wait();
        let result = read(Totals(first));
        self.wait();
        result
    }
}
