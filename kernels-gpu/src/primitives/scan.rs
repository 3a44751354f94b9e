//! Scans in one launch.
//!
//! A tile is 64 bytes of each thread, read once and written once. A warp's part is contiguous: each of its loads is 512 bytes, of
//! which a lane has 16. Lanes scan their 16 bytes, the warp its lanes by shuffles, all loads side by side, and the first warp the warps. It
//! then [looks back](super::look_back) for the value of all tiles before. Nothing but the warps' values goes through shared memory.

use core::mem::size_of;

use cuda_std::thread;

use super::block::{lane, of_lane, of_lane_before, scan_warp};
use super::look_back::Chain;
use super::operation::Operation;
use super::part::{ITEMS, Part, items, skipped, tile};
use super::walk::per_load;

/// Threads of a block.
pub const BLOCK: u32 = 512;
/// The signature of all scans: the elements, where the result goes, whether a value leaves out its own element, and a look-back's words.
pub type Signature<T, V> = fn(&'static [T], *mut V, u32, *mut u64);

/// The body of a kernel made by [`scan!`](crate::scan).
///
/// # Safety
/// As the kernel's; `shared` is shared memory for a value of each warp, and `drawn` for a word.
#[inline(always)]
pub unsafe fn scan<T: Copy, O: Operation<T>, const THREADS: usize>(
    from: &[T],
    to: *mut O::Value,
    is_exclusive: u32,
    words: *mut u64,
    shared: *mut O::Value,
    drawn: *mut u64,
) {
    let per = per_load::<O::Value>();
    let loads = items::<O::Value>() / per;
    // SAFETY: all threads come by; the rest is the caller's promise.
    unsafe {
        let chain = Chain::draw(words, drawn, size_of::<O::Value>() / 4);
        let skipped = skipped::<O::Value>(to.addr());
        let part = Part::new::<O::Value>(chain.tile, tile::<O::Value>(THREADS), skipped, from.len());
        let mut values = part.load(from.as_ptr(), O::identity(), O::value);
        let mut of_lanes = [O::identity(); ITEMS];
        for load in 0..loads {
            cuda_std::unroll!(full);
            for i in load * per + 1..(load + 1) * per {
                cuda_std::unroll!(full);
                values[i] = O::combine(values[i - 1], values[i]);
            }
            of_lanes[load] = values[(load + 1) * per - 1];
        }
        scan_warp(&mut of_lanes, loads, O::combine);
        // The value of what lies before a lane's load in the warp's part.
        let mut of_warp = O::identity();
        for load in 0..loads {
            cuda_std::unroll!(full);
            let (before, all) = (of_lane_before(of_lanes[load], 1), of_lane(of_lanes[load], 31));
            let before = if lane() == 0 { O::identity() } else { before };
            of_lanes[load] = O::combine(of_warp, before);
            of_warp = O::combine(of_warp, all);
        }
        let before = before_warp::<T, O, THREADS>(&chain, of_warp, shared);
        for load in 0..loads {
            cuda_std::unroll!(full);
            let before = O::combine(before, of_lanes[load]);
            let mut last = before;
            for i in load * per..(load + 1) * per {
                cuda_std::unroll!(full);
                let value = O::combine(before, values[i]);
                values[i] = if is_exclusive == 0 { value } else { last };
                last = value;
            }
        }
        part.store(to, &values);
    }
}

/// The value of all elements before this warp's part.
///
/// # Safety
/// As of [`scan`].
#[inline(always)]
unsafe fn before_warp<T: Copy, O: Operation<T>, const THREADS: usize>(
    chain: &Chain,
    of_warp: O::Value,
    shared: *mut O::Value,
) -> O::Value {
    let (warps, warp) = (THREADS / 32, thread::thread_idx_x() as usize / 32);
    // SAFETY: the caller's promise; barriers part what warps write from what others read.
    unsafe {
        if lane() == 31 {
            *shared.add(warp) = of_warp;
        }
        thread::sync_threads();
        if warp == 0 {
            let is_warp = (lane() as usize) < warps;
            let mut of_warps = [if is_warp { *shared.add(lane() as usize) } else { O::identity() }];
            scan_warp(&mut of_warps, 1, O::combine);
            let own = of_lane(of_warps[0], warps as u32 - 1);
            let before_tile = chain.before(own, O::identity(), O::combine);
            let before = of_lane_before(of_warps[0], 1);
            if is_warp {
                let before = if lane() == 0 { O::identity() } else { before };
                *shared.add(lane() as usize) = O::combine(before_tile, before);
            }
        }
        thread::sync_threads();
        *shared.add(warp)
    }
}

/// Kernels that scan elements of a type by an operation, in the crate that calls this; see [`reduction!`](crate::reduction).
///
/// ```
/// use cuda_std::prelude::*;
/// use kernels_gpu::primitives::operation::Max;
///
/// kernels_gpu::scan! {
///     /// The greatest of all numbers so far.
///     greatest_so_far: u32 as u32, by Max;
/// }
/// ```
#[macro_export]
macro_rules! scan {
    ($($(#[$doc:meta])* $name:ident: $element:ty as $value:ty, by $operation:ty;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// `to` has room for a value of each element, and `words` are a look-back's, with a state for each 4 bytes of a value of each block of the grid.
        #[kernel]
        #[block_dim(512)]
        #[launch_bounds(max_registers = 40)]
        pub unsafe fn $name(from: &[$element], to: *mut $value, is_exclusive: u32, words: *mut u64) {
            let shared = cuda_std::shared_array![$value; 16];
            let drawn = cuda_std::shared_array![u64; 1];
            // SAFETY: as the contract says.
            unsafe {
                $crate::primitives::scan::scan::<$element, $operation, 512>(
                    from, to, is_exclusive, words, shared, drawn)
            }
        }
    )*};
}
