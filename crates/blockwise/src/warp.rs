//! Warps: 32 threads that exchange values without memory.

use core::marker::PhantomData;

use crate::lane::Lane;
use crate::{Block, Element, PerThread, Thread};

/// A warp of a block: the level at which 32 threads do the same. Like the block it has no threads of its own to branch on, so
/// all lanes come by each of its operations; and it has no barrier, so warps may go different ways.
///
/// ```
/// # use blockwise::prelude::*;
/// /// The largest number of each warp; of odd warps the smallest.
/// #[kernel]
/// #[requires(x.len() == to.len())]
/// pub fn extremes(block: Block<256>, x: &[u32], mut to: SliceMut<u32>) {
///     let first = block.x() * 256;
///     let values = block.each(|t| x.get(first + t.x()).copied().unwrap_or(0));
///     let extremes = block.warps(|warp| {
///         let extreme = if warp.index() % 2 == 0 {
///             warp.reduce(&values, |a, b| a.max(b))
///         } else {
///             warp.reduce(&values, |a, b| a.min(b))
///         };
///         warp.each(|_| extreme)
///     });
///     to.write(&block, |t, _| extremes.of(t));
/// }
/// ```
/// A lane cannot ask the others on its own: those that go another way would not answer.
///
/// ```compile_fail,E0277
/// # use blockwise::prelude::*;
/// # #[kernel]
/// # pub fn wrong(block: Block<256>) {
/// let values = block.each(|t| t.x() as u32);
/// block.warps(|warp| warp.each(|t| if t.x() % 2 == 0 { warp.of_lane(&values, 0) } else { 0 }));
/// # }
/// ```
pub struct Warp<'w, const W: usize, const H: usize, const D: usize> {
    block: &'w Block<W, H, D>,
    invariant: PhantomData<fn(&'w ()) -> &'w ()>,
}

impl<const W: usize, const H: usize, const D: usize> Block<W, H, D> {
    /// Each warp goes its own way, and leaves one value a thread.
    ///
    /// ```
    /// # use blockwise::prelude::*;
    /// # #[kernel]
    /// # pub fn example(block: Block<256>) {
    /// let lanes = block.each(|t| t.index() as u32);
    /// let turned = block.warps(|warp| warp.exchange(&lanes, 1));
    /// # }
    /// ```
    #[inline(always)]
    pub fn warps<T: Element>(
        &self,
        work: impl for<'w> Fn(&Warp<'w, W, H, D>) -> PerThread<T> + Sync,
    ) -> PerThread<T> {
        work(&self.warp())
    }

    /// This warp.
    #[inline(always)]
    pub(crate) fn warp(&self) -> Warp<'_, W, H, D> {
        const {
            assert!(
                (W * H * D).is_multiple_of(32),
                "the threads of a block are whole warps: a multiple of 32"
            )
        }
        Warp { block: self, invariant: PhantomData }
    }
}

impl<const W: usize, const H: usize, const D: usize> Warp<'_, W, H, D> {
    /// Its number in the block.
    #[inline(always)]
    pub fn index(&self) -> usize {
        self.block.thread().index() / 32
    }

    /// One value a thread.
    #[inline(always)]
    pub fn each<T: Element>(&self, value: impl for<'t> Fn(Thread<'t, W, H, D>) -> T + Sync) -> PerThread<T> {
        self.block.each(value)
    }

    /// Each lane gets the value of the lane whose number differs in the bits of `mask`.
    #[inline(always)]
    pub fn exchange<T: Lane>(&self, values: &PerThread<T>, mask: u32) -> PerThread<T> {
        // SAFETY: this is the level of the warp: every lane comes by.
        PerThread::new(unsafe { values.open().exchange(mask) })
    }

    /// Each lane gets the value of the lane that is `distance` before it; the first ones keep their own.
    #[inline(always)]
    pub fn before<T: Lane>(&self, values: &PerThread<T>, distance: u32) -> PerThread<T> {
        // SAFETY: as above.
        PerThread::new(unsafe { values.open().before(distance) })
    }

    /// The value of one lane, which all of them get: the same for the warp.
    #[inline(always)]
    pub fn of_lane<T: Lane>(&self, values: &PerThread<T>, lane: u32) -> T {
        // SAFETY: as above.
        unsafe { values.open().of_lane(lane) }
    }

    /// One value of all lanes' values, by an operation that may be done in any order.
    #[inline(always)]
    pub fn reduce<T: Lane>(&self, values: &PerThread<T>, combine: impl Fn(T, T) -> T + Sync) -> T {
        // SAFETY: as above. An operation that is not the same both ways gives lanes different values: the first one's counts.
        unsafe { self.reduce_to_first(values, combine).of_lane(0) }
    }

    /// As [`reduce`](Self::reduce), for the first lane.
    ///
    /// # Safety
    /// All lanes come by, and no other lane's value is used.
    #[inline(always)]
    pub(crate) unsafe fn reduce_to_first<T: Lane>(
        &self,
        values: &PerThread<T>,
        combine: impl Fn(T, T) -> T + Sync,
    ) -> T {
        let mut value = values.open();
        for bit in 0..5 {
            // SAFETY: the caller's promise.
            value = combine(value, unsafe { value.exchange(16 >> bit) });
        }
        value
    }

    /// Whether the lanes' conditions hold: bit *i* is lane *i*'s.
    #[inline(always)]
    pub fn ballot(&self, conditions: &PerThread<bool>) -> u32 {
        // SAFETY: as above.
        unsafe { crate::lane::ballot(conditions.open()) }
    }
}
