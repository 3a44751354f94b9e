//! A thread of a block.

use core::hint::assert_unchecked;
use core::marker::PhantomData;

use crate::marks;

/// A thread of a block of `W` × `H` × `D`: lent to the closures that one thread runs, for as long as they run.
///
/// ```
/// # use blockwise::prelude::*;
/// /// The unit matrix.
/// #[kernel]
/// pub fn unit(block: Block<16, 16>, mut to: MatrixMut<f32, Tiles<16, 16>>) {
///     let on_the_diagonal = block.x() == block.y();
///     to.write(&block, |t, _| if on_the_diagonal && t.x() == t.y() { 1.0 } else { 0.0 });
/// }
/// ```
/// It cannot be kept: the block would know which thread runs it, and could do what the others do not.
///
/// ```compile_fail
/// # use blockwise::prelude::*;
/// # #[kernel]
/// # pub fn wrong(block: Block<16, 16>) {
/// let mine = block.each(|t| t);
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct Thread<'t, const W: usize, const H: usize = 1, const D: usize = 1> {
    lent: PhantomData<fn(&'t ()) -> &'t ()>,
}

impl<const W: usize, const H: usize, const D: usize> Thread<'_, W, H, D> {
    /// # Safety
    /// The kernel's blocks have this shape.
    #[inline(always)]
    pub(crate) unsafe fn new() -> Self {
        Self { lent: PhantomData }
    }

    /// Its place in the block along x, below `W`.
    #[inline(always)]
    pub fn x(self) -> usize {
        // SAFETY: the driver refuses blocks of another shape than the entry's `.reqntid`.
        unsafe { below::<W>(marks::thread_x()) }
    }

    /// Its place in the block along y, below `H`.
    #[inline(always)]
    pub fn y(self) -> usize {
        // SAFETY: as above.
        unsafe { below::<H>(marks::thread_y()) }
    }

    /// Its place in the block along z, below `D`.
    #[inline(always)]
    pub fn z(self) -> usize {
        // SAFETY: as above.
        unsafe { below::<D>(marks::thread_z()) }
    }

    /// Its number in the block: x first, then y, then z, as warps are cut.
    #[inline(always)]
    pub fn index(self) -> usize {
        self.x() + W * (self.y() + H * self.z())
    }

    /// [`index`](Self::index) for a sum of 64 bits: 17 instructions of a copy instead of 18. Tried besides: places counted in bytes, 18; an index
    /// of two halves of 32 bits, 22; one of 32 bits, 18, which would wrap. Machine code has as many with and without.
    #[inline(always)]
    pub(crate) fn long_index(self) -> usize {
        if H * D > 1 {
            return self.index();
        }
        // SAFETY: as above.
        unsafe {
            let x = marks::long_thread_x() as usize;
            assert_unchecked(x < W);
            x
        }
    }
}

/// # Safety
/// The index is below `LIMIT`.
#[inline(always)]
unsafe fn below<const LIMIT: usize>(index: u32) -> usize {
    if LIMIT == 1 {
        return 0;
    }
    let index = index as usize;
    // SAFETY: the caller's promise.
    unsafe { assert_unchecked(index < LIMIT) };
    index
}
