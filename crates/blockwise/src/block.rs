//! The block: the level at which all threads do the same.

use core::marker::PhantomData;

use crate::{Element, PerThread, Reuse, Share, Thread, copies, marks};

/// A block of `W` × `H` × `D` threads: the first parameter of a kernel, and the key to everything that a block does together.
///
/// It is no parameter of the launch. It cannot be made, copied, or captured by the closure of a thread, so what asks for a
/// `&Block` stands at the level of the block, where all threads come by.
///
/// ```
/// # use blockwise::prelude::*;
/// /// Each block adds its own number to its 256 elements.
/// #[kernel]
/// pub fn number(block: Block<256>, mut to: SliceMut<u32>) {
///     let number = block.x() as u32; // the same for all threads
///     to.update(&block, |_, _, old| old + number);
/// }
/// ```
/// A branch within a closure is taken by some threads. What waits for all of them has no place there:
///
/// ```compile_fail,E0277
/// # use blockwise::prelude::*;
/// #[kernel]
/// pub fn barrier_in_a_branch(block: Block<256>, #[shared] tile: Tile<u32, 1, 256>) {
///     block.each(|t| {
///         if t.x() < 16 {
///             block.each(|_| 0); // some threads would come by here, and others not
///         }
///     });
/// }
/// ```
pub struct Block<const W: usize, const H: usize = 1, const D: usize = 1> {
    level: PhantomData<*const OnlyAtTheLevelOfTheBlock>,
}

/// A pointer to it is neither `Send` nor `Sync`, and rustc names it when a thread captures the block.
struct OnlyAtTheLevelOfTheBlock;

/// The type of a kernel's block, as `#[kernel]` asks it.
///
/// # Safety
/// `SHAPE` is the shape by which the type's threads know their limits, and nothing else makes the value.
#[diagnostic::on_unimplemented(
    message = "the first parameter of a kernel without `unsafe` is its block, not `{Self}`",
    label = "should be `Block<256>`, `Block<16, 16>` or the like",
    note = "a kernel with another first parameter is an `unsafe fn`"
)]
pub unsafe trait BlockToken {
    /// Threads along x, y, z.
    const SHAPE: [u32; 3];

    /// The block of this thread.
    ///
    /// # Safety
    /// The entry of a kernel calls this, once.
    unsafe fn begin() -> Self;
}

// SAFETY: its threads are `Thread<W, H, D>`, and its field is private.
unsafe impl<const W: usize, const H: usize, const D: usize> BlockToken for Block<W, H, D> {
    const SHAPE: [u32; 3] = {
        assert!(W > 0 && H > 0 && D > 0, "a block has threads along each axis");
        assert!(
            W <= 1024 && H <= 1024 && D <= 64 && W * H * D <= 1024,
            "a block has at most 1024 threads, and 64 along z"
        );
        [W as u32, H as u32, D as u32]
    };

    #[inline(always)]
    unsafe fn begin() -> Self {
        Self { level: PhantomData }
    }
}

impl<const W: usize, const H: usize, const D: usize> Block<W, H, D> {
    /// Its number of threads.
    pub const THREADS: usize = W * H * D;

    /// Its place in the grid along x.
    #[inline(always)]
    pub fn x(&self) -> usize {
        // SAFETY: reading a special register has no precondition.
        unsafe { marks::block_x() as usize }
    }

    /// Its place in the grid along y.
    #[inline(always)]
    pub fn y(&self) -> usize {
        // SAFETY: as above.
        unsafe { marks::block_y() as usize }
    }

    /// Its place in the grid along z.
    #[inline(always)]
    pub fn z(&self) -> usize {
        // SAFETY: as above.
        unsafe { marks::block_z() as usize }
    }

    /// The blocks of the grid along x, y, z.
    #[inline(always)]
    pub fn grid(&self) -> [usize; 3] {
        // SAFETY: as above.
        unsafe { [marks::grid_x() as usize, marks::grid_y() as usize, marks::grid_z() as usize] }
    }

    /// One value a thread.
    ///
    /// ```
    /// # use blockwise::prelude::*;
    /// # #[kernel]
    /// # pub fn example(block: Block<16, 16>) {
    /// let diagonal = block.each(|t| t.x() == t.y());
    /// # }
    /// ```
    /// A thread's value stays with the threads: it cannot leave by a variable of the block.
    ///
    /// ```compile_fail,E0594
    /// # use blockwise::prelude::*;
    /// # #[kernel]
    /// # pub fn example(block: Block<16, 16>) {
    /// let mut last = 0;
    /// block.each(|t| last = t.x());
    /// # }
    /// ```
    #[inline(always)]
    pub fn each<T: Element>(&self, value: impl for<'t> Fn(Thread<'t, W, H, D>) -> T + Sync) -> PerThread<T> {
        PerThread::new(value(self.thread()))
    }

    /// Waits until each thread has filled its part of the tiles, and shares them: from here on every thread may read all of
    /// them, and none writes. One tile, or a tuple of them, for which one wait does.
    #[inline(always)]
    pub fn share<F: Share>(&self, filled: F) -> F::Shared {
        copies::wait(F::PENDING);
        self.wait();
        // SAFETY: the barrier was just now.
        unsafe { filled.shared() }
    }

    /// Waits until each thread has read what it needs of the tiles, and gives them back to be filled again.
    #[inline(always)]
    pub fn reuse<S: Reuse>(&self, shared: S) -> S::Empty {
        self.wait();
        // SAFETY: as above.
        unsafe { shared.empty() }
    }

    /// The barrier.
    #[inline(always)]
    pub(crate) fn wait(&self) {
        // SAFETY: this is the level of the block: every thread comes by.
        unsafe { marks::barrier(0) }
    }

    /// This thread, for a closure that it is lent to.
    #[inline(always)]
    pub(crate) fn thread(&self) -> Thread<'_, W, H, D> {
        // SAFETY: a block of this shape exists, so the entry has demanded that shape.
        unsafe { Thread::new() }
    }
}
