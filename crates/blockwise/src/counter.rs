//! Places that many threads add to: atomics, in global and in shared memory.

use ::tile::Layout;

use crate::tile::{Filled, Tile};
use crate::{Block, Element, Thread};

/// Counters in global memory, which any thread adds to. On the host a `&mut DeviceBuffer<T>`. What they hold in the meantime only
/// a thread is told, since it is not the same for all.
pub struct Counters<T> {
    first: *mut T,
    len: usize,
}

// SAFETY: threads reach the elements by atomics only.
unsafe impl<T: Element> Sync for Counters<T> {}

/// The phase of a tile that all threads add to.
pub enum Counting {}

// SAFETY: as above.
unsafe impl<T: Element, const ROWS: usize, const COLS: usize, L> Sync for Tile<T, ROWS, COLS, L, Counting> {}

/// A number that atomics add to.
pub trait Counted: Element + sealed::Atomic {}
impl<T: Element + sealed::Atomic> Counted for T {}

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
        ($ty:tt $instruction:expr, $space:literal, $place:ident, $value:ident) => {{
            #[cfg(target_os = "cuda")]
            {
                let before: $ty;
                // SAFETY: the caller's promise.
                unsafe {
                    cuda_std::__blockwise_ptx!(
                        concat!("{{ .reg .u64 place; cvta.to.", $space, ".u64 place, {place};"),
                        concat!($instruction, " {before}, [place], {value}; }}"),
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
                    atomic!($ty concat!("atom.relaxed.gpu.global.add.", $suffix), "global", place, value)
                }
                #[inline(always)]
                unsafe fn add_shared(place: *mut Self, value: Self) -> Self {
                    atomic!($ty concat!("atom.relaxed.cta.shared.add.", $suffix), "shared", place, value)
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

    /// How many there are.
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
        T: Counted,
    {
        assert!(i < self.len, "there is no such counter");
        // SAFETY: it is inside.
        unsafe { T::add_global(self.first.add(i), value) }
    }
}

impl<T: Counted, const ROWS: usize, const COLS: usize, L: Layout<ROWS, COLS>>
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
    pub fn count<T: Counted, const ROWS: usize, const COLS: usize, L: Layout<ROWS, COLS>>(
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
                let (a, b) = pair(t, low, (*first.add(low), *first.add(high)));
                (*first.add(low), *first.add(high)) = (a, b);
            }
            i += W * H * D;
        }
        filled
    }
}
