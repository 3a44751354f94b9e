//! Chosen elements, in their order, in one launch.
//!
//! A block ranks the chosen elements of its tile, and [looks back](super::look_back) for how many were chosen before it. Elements go
//! through shared memory by their ranks, so that stores are contiguous wherever a tile's elements go. For a partition the others
//! follow the chosen ones there: before an element there are as many of them as elements that were not chosen.

use core::marker::PhantomData;
use core::mem::MaybeUninit;

use cuda_std::thread;

use super::block::{lane, of_lane, of_lane_before, scan_warp};
use super::look_back::Chain;
use super::part::{ITEMS, Part, items, skipped, tile};
use super::walk::per_load;

/// Threads of a block.
pub const BLOCK: u32 = 256;
/// Words of shared memory for a block's elements.
pub const STAGED: usize = BLOCK as usize * 8;

/// A choice of elements.
pub trait Choice<T> {
    /// Tells whether the element at an index of all elements is chosen.
    ///
    /// # Safety
    /// It is the element at this index.
    unsafe fn is_chosen(&self, element: T, index: usize) -> bool;
}

/// A condition, as a type.
pub trait Predicate<T>: 'static {
    /// Tells whether an element is chosen.
    fn holds(element: T) -> bool;
}

/// The elements for which a [`Predicate`] holds.
pub struct Where<P>(PhantomData<P>);

impl<P> Where<P> {
    /// Those of the predicate.
    pub const NEW: Self = Self(PhantomData);
}

impl<T, P: Predicate<T>> Choice<T> for Where<P> {
    #[inline(always)]
    unsafe fn is_chosen(&self, element: T, _: usize) -> bool {
        P::holds(element)
    }
}

/// The elements whose flag is not 0.
pub struct Flagged(pub *const u8);

impl<T> Choice<T> for Flagged {
    #[inline(always)]
    unsafe fn is_chosen(&self, _: T, index: usize) -> bool {
        // SAFETY: each element has a flag.
        unsafe { *self.0.add(index) != 0 }
    }
}

/// The first of equal elements that follow each other.
pub struct First<T>(pub *const T);

impl<T: Copy + PartialEq> Choice<T> for First<T> {
    #[inline(always)]
    unsafe fn is_chosen(&self, element: T, index: usize) -> bool {
        // SAFETY: all elements before this one exist.
        index == 0 || unsafe { *self.0.add(index - 1) } != element
    }
}

/// Where the elements go.
#[derive(Clone, Copy)]
pub struct Destination<T> {
    /// The chosen ones.
    pub chosen: *mut T,
    /// The others, if that is not null.
    pub others: *mut T,
    /// The number of chosen ones.
    pub count: *mut u64,
}

/// The body of the kernels.
///
/// # Safety
/// All threads of the grid, which has a block for each tile, come by. There is room for each element that goes somewhere; `words` are a
/// look-back's. `staged` is shared memory for a block's elements, `shared` for `THREADS / 32 + 3` words.
#[inline(always)]
pub unsafe fn select<T: Copy, const THREADS: usize>(
    from: &[T],
    choice: impl Choice<T>,
    to: Destination<T>,
    words: *mut u64,
    staged: *mut T,
    shared: *mut u64,
) {
    let (per, of_tile) = (per_load::<T>(), tile::<T>(THREADS));
    let (loads, thread) = (items::<T>() / per, thread::thread_idx_x() as usize);
    let skipped = skipped::<T>(from.as_ptr().addr());
    // SAFETY: the caller's promise; barriers part what threads write to shared memory from what others read.
    unsafe {
        let chain = Chain::draw(words, shared.add(THREADS / 32 + 2), 1);
        let part = Part::new::<T>(chain.tile, of_tile, skipped, from.len());
        let elements = part.load(from.as_ptr(), MaybeUninit::uninit(), |x, _| MaybeUninit::new(x));
        let (mut chosen_here, mut of_lanes) = (0u32, [0u32; ITEMS]);
        for i in 0..items::<T>() {
            cuda_std::unroll!(full);
            let distance = Part::distance(i, per);
            if part.exists(distance) {
                let index = part.first.wrapping_add(distance);
                let is_chosen = choice.is_chosen(elements[i].assume_init(), index);
                chosen_here |= u32::from(is_chosen) << i;
                of_lanes[i / per] += u32::from(is_chosen);
            }
        }
        scan_warp(&mut of_lanes, loads, |a, b| a + b);
        let mut of_warp = 0;
        for load in 0..loads {
            cuda_std::unroll!(full);
            let (before, all) = (of_lane_before(of_lanes[load], 1), of_lane(of_lanes[load], 31));
            of_lanes[load] = of_warp + if lane() == 0 { 0 } else { before };
            of_warp += all;
        }
        let (before, chosen, of_warps) = before_tile::<THREADS>(&chain, of_warp, shared);
        // Where the tile's elements begin and end, by distance from where it begins.
        let begin = if chain.tile == 0 { skipped } else { 0 };
        let end = (from.len() + skipped - chain.tile * of_tile).min(of_tile);
        let own = thread / 32 * 32 * items::<T>() + lane() as usize * per - begin;
        for i in 0..items::<T>() {
            cuda_std::unroll!(full);
            let rank = &mut of_lanes[i / per];
            if part.exists(Part::distance(i, per)) {
                let place = of_warps + *rank;
                let others_before = (own + Part::distance(i, per)) as u32 - place;
                let is_chosen = chosen_here >> i & 1 == 1;
                if is_chosen {
                    *staged.add(place as usize) = elements[i].assume_init();
                } else if !to.others.is_null() {
                    *staged.add((chosen + others_before) as usize) = elements[i].assume_init();
                }
                *rank += u32::from(is_chosen);
            }
        }
        thread::sync_threads();
        let (before, chosen) = (before as usize, chosen as usize);
        let others =
            to.others.wrapping_add((chain.tile * of_tile + begin - skipped) - before).wrapping_sub(chosen);
        for i in 0..items::<T>() {
            cuda_std::unroll!(full);
            let place = thread + i * THREADS;
            if place < chosen {
                *to.chosen.add(before + place) = *staged.add(place);
            } else if !to.others.is_null() && place < end - begin {
                *others.wrapping_add(place) = *staged.add(place);
            }
        }
        if thread == 0 && chain.tile == thread::grid_dim_x() as usize - 1 {
            *to.count = (before + chosen) as u64;
        }
    }
}

/// How many were chosen before the tile, in the tile, and in the tile before this warp.
///
/// # Safety
/// As of [`select`].
#[inline(always)]
unsafe fn before_tile<const THREADS: usize>(
    chain: &Chain,
    of_warp: u32,
    shared: *mut u64,
) -> (u64, u32, u32) {
    let (warps, warp) = (THREADS / 32, thread::thread_idx_x() as usize / 32);
    // SAFETY: the caller's promise; barriers part what warps write from what others read.
    unsafe {
        if lane() == 0 {
            *shared.add(warp) = u64::from(of_warp);
        }
        thread::sync_threads();
        if warp == 0 {
            let is_warp = (lane() as usize) < warps;
            let own = if is_warp { *shared.add(lane() as usize) as u32 } else { 0 };
            let mut of_warps = [own];
            scan_warp(&mut of_warps, 1, |a, b| a + b);
            let all = of_lane(of_warps[0], 31);
            let before = chain.before_count(u64::from(all));
            if is_warp {
                *shared.add(lane() as usize) = u64::from(of_warps[0] - own);
            }
            if lane() == 0 {
                *shared.add(warps) = before;
                *shared.add(warps + 1) = u64::from(all);
            }
        }
        thread::sync_threads();
        (*shared.add(warps), *shared.add(warps + 1) as u32, *shared.add(warp) as u32)
    }
}

/// Kernels that choose the elements of a type by a [`Predicate`], in the crate that calls this.
///
/// ```
/// use cuda_std::prelude::*;
/// use kernels_gpu::primitives::select::Predicate;
///
/// /// Numbers above 0.
/// pub struct Positive;
///
/// impl Predicate<f32> for Positive {
///     fn holds(element: f32) -> bool {
///         element > 0.0
///     }
/// }
///
/// kernels_gpu::selection! {
///     /// The numbers above 0.
///     positive: f32, by Positive;
/// }
/// ```
#[macro_export]
macro_rules! selection {
    ($($(#[$doc:meta])* $name:ident: $element:ty, by $predicate:ty;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// There is room for each chosen element, for each other one if `others` is not null, and for the count; `words` are a
        /// look-back's for each block of the grid.
        #[kernel]
        #[block_dim(256)]
        #[launch_bounds(max_registers = 48)]
        pub unsafe fn $name(from: &[$element], chosen: *mut $element, others: *mut $element, count: *mut u64, words: *mut u64) {
            use $crate::primitives::select;
            let staged = cuda_std::shared_array![u64; 2048];
            let shared = cuda_std::shared_array![u64; 11];
            const { assert!(size_of::<$element>() * $crate::primitives::part::tile::<$element>(256) <= 8 * 2048) };
            let to = select::Destination { chosen, others, count };
            // SAFETY: as the contract says.
            unsafe {
                select::select::<$element, 256>(from, select::Where::<$predicate>::NEW, to, words, staged.cast(), shared)
            }
        }
    )*};
}
