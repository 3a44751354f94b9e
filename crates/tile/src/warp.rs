//! Collectives of a warp's lanes, by shuffles: without memory, and without a barrier.
//!
//! ```
//! use cuda_std::prelude::*;
//! use tile::warp;
//!
//! /// The largest number of each warp of threads.
//! #[kernel]
//! pub unsafe fn largest(x: &[f32], to: *mut f32) {
//!     let i = thread::index_1d() as usize;
//!     let value = x.get(i).copied().unwrap_or(f32::NEG_INFINITY);
//!     // SAFETY: every thread comes here.
//!     let largest = unsafe { warp::reduce(value, f32::max) };
//!     if cuda_std::warp::lane_id() == 0 {
//!         // SAFETY: `to` has an element for each warp of the grid, and this lane alone writes this one.
//!         unsafe { *to.add(i / 32) = largest };
//!     }
//! }
//! ```

use cuda_std::warp::{WarpShuffleValue, lane_id, warp_shuffle_down, warp_shuffle_idx, warp_shuffle_up};

use crate::block::{thread_in_block, threads_of_block};

/// A scan of the values, in the order of the threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scan<T> {
    /// Of the threads before this one, and of it.
    pub inclusive: T,
    /// Of the threads before this one.
    pub exclusive: T,
    /// Of all, the same for each of them.
    pub total: T,
}

/// The lanes of this warp that the block has threads for: all 32, but for the last warp of a block of another size.
#[inline(always)]
pub fn lanes() -> u32 {
    let left = threads_of_block() - thread_in_block() / 32 * 32;
    if left >= 32 { u32::MAX } else { (1 << left) - 1 }
}

/// One value of all lanes' values, which every lane gets. `combine` may be done in any order.
///
/// # Safety
/// All threads of the warp come here together, and none has ended.
#[inline(always)]
pub unsafe fn reduce<T: WarpShuffleValue + Copy>(value: T, combine: impl Fn(T, T) -> T) -> T {
    let (mask, lane) = (lanes(), lane_id());
    let count = mask.count_ones();
    let mut all = value;
    let mut distance = 16;
    while distance > 0 {
        // SAFETY: the caller's promise; what comes from beyond the last lane is not used.
        let (other, _) = unsafe { warp_shuffle_down(mask, all, distance, 32) };
        if lane + distance < count {
            all = combine(all, other);
        }
        distance /= 2;
    }
    // SAFETY: the caller's promise.
    unsafe { warp_shuffle_idx(mask, all, 0, 32).0 }
}

/// Combines each lane's value with those of the lanes before it. `combine` is associative, and `zero` changes nothing.
///
/// # Safety
/// All threads of the warp come here together, and none has ended.
#[inline(always)]
pub unsafe fn scan<T: WarpShuffleValue + Copy>(value: T, zero: T, combine: impl Fn(T, T) -> T) -> Scan<T> {
    let (mask, lane) = (lanes(), lane_id());
    let mut inclusive = value;
    let mut distance = 1;
    while distance < 32 {
        // SAFETY: the caller's promise; what comes from before the first lane is not used.
        let (other, _) = unsafe { warp_shuffle_up(mask, inclusive, distance, 32) };
        if lane >= distance {
            inclusive = combine(other, inclusive);
        }
        distance *= 2;
    }
    // SAFETY: the caller's promise.
    let (before, total) = unsafe {
        let (before, _) = warp_shuffle_up(mask, inclusive, 1, 32);
        (before, warp_shuffle_idx(mask, inclusive, mask.count_ones() - 1, 32).0)
    };
    Scan { inclusive, exclusive: if lane == 0 { zero } else { before }, total }
}
