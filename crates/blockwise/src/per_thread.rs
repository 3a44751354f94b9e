//! Values that differ by thread and outlive a closure.

use crate::{Block, Element, Thread};

/// One value for each thread of the block, in its registers. The block keeps it, and only threads open it: what differs by
/// thread cannot decide where the block goes.
///
/// ```
/// # use blockwise::prelude::*;
/// # #[kernel]
/// # pub fn example(block: Block<16, 16>) {
/// let mut sum = block.each(|_| 0);
/// for i in 0..10 {
///     sum.update(&block, |t, sum| *sum += i * t.x());
/// }
/// let half = block.each(|t| sum.of(t) / 2);
/// # }
/// ```
/// ```compile_fail,E0308
/// # use blockwise::prelude::*;
/// # #[kernel]
/// # pub fn example(block: Block<16, 16>) {
/// let left = block.each(|t| t.x() < 8);
/// if left { // not a `bool`: half of the threads would take another way
/// }
/// # }
/// ```
/// A reduction of all threads' values is the same for all, and the block may go by it:
///
/// ```
/// # use blockwise::prelude::*;
/// # #[kernel]
/// # pub fn example(block: Block<16, 16>, #[shared] mut scratch: Scratch<u32>) {
/// let left = block.each(|t| u32::from(t.x() < 8));
/// if block.reduce(&mut scratch, &left, |a, b| a | b) == 1 { // any of them
/// }
/// # }
/// ```
pub struct PerThread<T> {
    value: T,
}

// Not derived: a `clone` of the user's own would see a thread's value at the level of the block.
impl<T: Copy> Copy for PerThread<T> {}
impl<T: Copy> Clone for PerThread<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Element> PerThread<T> {
    #[inline(always)]
    pub(crate) fn new(value: T) -> Self {
        Self { value }
    }

    /// The value of this thread.
    #[inline(always)]
    pub fn of<const W: usize, const H: usize, const D: usize>(&self, _: Thread<'_, W, H, D>) -> T {
        self.value
    }

    /// Each thread changes its value.
    #[inline(always)]
    pub fn update<const W: usize, const H: usize, const D: usize>(
        &mut self,
        block: &Block<W, H, D>,
        change: impl for<'t> Fn(Thread<'t, W, H, D>, &mut T) + Sync,
    ) {
        change(block.thread(), &mut self.value);
    }

    /// This thread's contribution to a collective of the block or the warp.
    #[inline(always)]
    pub(crate) fn open(&self) -> T {
        self.value
    }
}
