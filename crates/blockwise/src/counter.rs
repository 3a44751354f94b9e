//! Places that many threads add to: atomics, in global and in shared memory.

use ::tile::Layout;

use crate::tile::{Filled, Tile};
use crate::{Block, Element, Thread};

/// Counters in global memory, which any thread adds to. On the host a `&mut Buffer<T>`. What they hold in the meantime only
/// a thread is told, since it is not the same for all.
///
/// They have no map. A kernel without another output is launched with a grid of one's own choice
/// (`warpsmith_launch::Scope::launch_with`).
///
/// ```
/// # use blockwise::prelude::*;
/// /// The frequency of each byte.
/// #[kernel]
/// pub fn histogram(block: Block<256>, bytes: &[u8], counts: Counters<u32>) {
///     let (mut first, all) = (block.x() * 256, 256 * block.grid()[0]);
///     while first < bytes.len() {
///         block.each(|t| {
///             if let Some(byte) = bytes.get(first + t.x()) {
///                 counts.add(t, usize::from(*byte), 1);
///             }
///         });
///         first += all;
///     }
/// }
/// ```
/// The first thread is told another number than the next one, so no block may go by it:
///
/// ```compile_fail,E0308
/// # use blockwise::prelude::*;
/// # #[kernel]
/// # pub fn wrong(block: Block<256>, counts: Counters<u32>) {
/// let before = block.each(|t| counts.add(t, 0, 1) == 0);
/// if before { // a value for each thread
/// }
/// # }
/// ```
pub struct Counters<T> {
    first: *mut T,
    len: usize,
}

// SAFETY: threads reach the elements by atomics only.
unsafe impl<T: Element> Sync for Counters<T> {}

/// The phase of a tile that all threads add to.
///
/// ```
/// # use blockwise::prelude::*;
/// /// The frequency of each remainder by 32 among a block's numbers.
/// #[kernel]
/// pub fn remainders(block: Block<256>, #[shared] tile: Tile<u32, 1, 32>, x: &[u32], mut counts: SliceMut<u32, Part<32>>) {
///     let first = block.x() * 256;
///     let counting = block.count(tile.fill(&block, |_, _| 0));
///     block.each(|t| {
///         if let Some(x) = x.get(first + t.x()) {
///             counting.add(t, (0, *x as usize % 32), 1);
///         }
///     });
///     let counted = block.share(counting);
///     counts.write(&block, |t, _| counted.at(0, t.x()));
/// }
/// ```
/// Before all have added there is nothing to read:
///
/// ```compile_fail,E0599
/// # use blockwise::prelude::*;
/// # #[kernel]
/// # pub fn wrong(block: Block<256>, #[shared] tile: Tile<u32, 1, 32>) {
/// let counting = block.count(tile.fill(&block, |_, _| 0));
/// block.each(|t| counting.at(0, t.x() % 32));
/// # }
/// ```
pub enum Counting {}

// SAFETY: as above.
unsafe impl<T: Element, const ROWS: usize, const COLS: usize, L> Sync for Tile<T, ROWS, COLS, L, Counting> {}

/// A number that atomics add to.
#[diagnostic::on_unimplemented(
    message = "atomics do not add to `{Self}`",
    label = "not a number that atomics add to",
    note = "they add to `u32`, `i32`, `u64` and `f32`"
)]
pub trait AtomicElement: Element + sealed::Atomic {}
impl<T: Element + sealed::Atomic> AtomicElement for T {}

mod sealed {
    /// The instructions, for global and for shared memory.
    pub trait Atomic: Copy {
        /// # Safety
        /// It lies in global memory, and others reach it by atomics only.
        unsafe fn add_global(place: *mut Self, value: Self) -> Self;
        /// # Safety
        /// It lies in shared memory, and others reach it by atomics only.
        unsafe fn add_shared(place: *mut Self, value: Self) -> Self;
    }

    macro_rules! atomic {
        ($ty:tt $scope:literal $suffix:literal, $place:ident, $value:ident) => {{
            #[cfg(target_os = "cuda")]
            {
                let before: $ty;
                // SAFETY: the caller's promise. The builder names the memory, where the place is known to be in it.
                unsafe {
                    cuda_std::__blockwise_ptx!(
                        concat!("atom.relaxed.", $scope, ".add.", $suffix, " {before}, [{place}], {value};"),
                        before = out($ty) before, place = in(ptr) $place, value = in($ty) $value);
                }
                before
            }
            #[cfg(not(target_os = "cuda"))]
            {
                let _ = ($place, $value);
                // SAFETY: it panics.
                unsafe { cuda_std::__device::only_on_the_gpu("an atomic") }
            }
        }};
    }
    macro_rules! atomics {
        ($($ty:tt $suffix:literal;)*) => {$(
            impl Atomic for $ty {
                #[inline(always)]
                unsafe fn add_global(place: *mut Self, value: Self) -> Self {
                    atomic!($ty "gpu" $suffix, place, value)
                }
                #[inline(always)]
                unsafe fn add_shared(place: *mut Self, value: Self) -> Self {
                    atomic!($ty "cta" $suffix, place, value)
                }
            }
        )*};
    }
    atomics! {
        u32 "u32";
        i32 "s32";
        u64 "u64";
        f32 "f32";
    }
}

impl<T: Element> Counters<T> {
    /// # Safety
    /// `len` elements of global memory lie there, which nothing else reaches while the kernel runs.
    #[inline(always)]
    pub(crate) unsafe fn from_raw(first: *mut T, len: usize) -> Self {
        Self { first, len }
    }

    /// The number of counters.
    #[inline(always)]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Adds to one of them, and tells the thread what it was. Outside of them it panics.
    #[inline(always)]
    #[track_caller]
    pub fn add<const W: usize, const H: usize, const D: usize>(
        &self,
        _: Thread<'_, W, H, D>,
        i: usize,
        value: T,
    ) -> T
    where
        T: AtomicElement,
    {
        assert!(i < self.len, "there is no such counter");
        // SAFETY: it is inside.
        unsafe { T::add_global(self.first.add(i), value) }
    }
}

impl<T: AtomicElement, const ROWS: usize, const COLS: usize, L: Layout<ROWS, COLS>>
    Tile<T, ROWS, COLS, L, Counting>
{
    /// Adds to an element, and tells the thread what it was. Outside of the tile it panics.
    #[inline(always)]
    #[track_caller]
    pub fn add<const W: usize, const H: usize, const D: usize>(
        &self,
        _: Thread<'_, W, H, D>,
        (row, col): (usize, usize),
        value: T,
    ) -> T {
        assert!(row < ROWS && col < COLS, "there is no such element in the tile");
        // SAFETY: it is inside, and in this phase all threads add only.
        unsafe { T::add_shared(self.first().add(L::place(row, col)), value) }
    }
}

impl<const W: usize, const H: usize, const D: usize> Block<W, H, D> {
    /// Waits until each thread has filled its part of the tile, and lets all threads add to all of it. [`Block::share`] ends that.
    #[inline(always)]
    pub fn count<T: AtomicElement, const ROWS: usize, const COLS: usize, L: Layout<ROWS, COLS>>(
        &self,
        filled: Tile<T, ROWS, COLS, L, Filled>,
    ) -> Tile<T, ROWS, COLS, L, Counting> {
        self.wait();
        // SAFETY: every element was filled before the barrier.
        unsafe { Tile::from_raw(filled.first()) }
    }

    /// Waits, and lets each thread replace the two elements of its pairs: `distance` apart, the first one in the lower half of a
    /// group of twice as many. That is how a sorting network goes.
    #[inline(always)]
    pub fn exchange<T: Element, const N: usize>(
        &self,
        filled: Tile<T, 1, N, ::tile::Plain, Filled>,
        distance: usize,
        pair: impl for<'t> Fn(Thread<'t, W, H, D>, usize, (T, T)) -> (T, T) + Sync,
    ) -> Tile<T, 1, N, ::tile::Plain, Filled> {
        assert!(distance > 0, "the elements of a pair are apart");
        self.wait();
        let (t, first) = (self.thread(), filled.first());
        let mut i = t.index();
        loop {
            // Pair i has the element i mod distance of group i / distance: no other pair has either of its two.
            let low = (i / distance) * distance + i;
            let high = low.saturating_add(distance);
            if high >= N {
                break;
            }
            // SAFETY: both are inside, and this thread's alone until the next barrier.
            unsafe {
                let first = first.byte_add(low * size_of::<T>());
                let second = first.add(distance);
                (*first, *second) = pair(t, low, (*first, *second));
            }
            i += W * H * D;
        }
        filled
    }
}
