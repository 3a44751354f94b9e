//! Collectives of a block's threads, for any shape of the block.

use cuda_std::thread;
use cuda_std::warp::WarpShuffleValue;

use crate::warp::{self, Scan};

/// This thread's number in its block: x first, then y, then z, as warps are cut.
#[inline(always)]
pub fn thread_in_block() -> usize {
    let (width, height) = (thread::block_dim_x(), thread::block_dim_y());
    let (x, y, z) = (thread::thread_idx_x(), thread::thread_idx_y(), thread::thread_idx_z());
    (x + width * (y + height * z)) as usize
}

/// How many threads the block has.
#[inline(always)]
pub fn threads_of_block() -> usize {
    (thread::block_dim_x() * thread::block_dim_y() * thread::block_dim_z()) as usize
}

/// Makes one value of the values of all threads: `combine` is an addition, a maximum, or another operation that may be
/// done in any order. Every thread gets the result, and `scratch` may be used again at once.
///
/// Each warp reduces by shuffles, then all threads go through the warps' values.
///
/// # Safety
/// Every thread of the block calls this. `scratch` is shared memory for one element of each warp, used by nothing else: 32 are
/// enough for any block.
#[inline(always)]
pub unsafe fn reduce<T: WarpShuffleValue + Copy>(
    scratch: *mut T,
    value: T,
    combine: impl Fn(T, T) -> T,
) -> T {
    // SAFETY: every thread comes here.
    let own = unsafe { warp::reduce(value, &combine) };
    // SAFETY: likewise, and the scratch memory is the caller's promise.
    unsafe {
        exchange(scratch, own, |totals, warps| {
            let mut all = totals.of(0);
            for warp in 1..warps {
                all = combine(all, totals.of(warp));
            }
            all
        })
    }
}

/// Combines each thread's value with those of the threads before it, in the order of [`thread_in_block`]. `combine` is
/// associative, and `zero` changes nothing. `scratch` may be used again at once.
///
/// ```
/// use cuda_std::prelude::*;
/// use cuda_std::shared_array;
/// use tile::scan;
///
/// /// Sums of the numbers before each, within its block.
/// #[kernel]
/// pub unsafe fn sums_before(x: &[u32], sums: *mut u32) {
///     let scratch = shared_array![u32; 32];
///     let i = thread::index_1d() as usize;
///     let value = x.get(i).copied().unwrap_or(0);
///     // SAFETY: every thread comes here, and blocks have at most 32 warps.
///     let before = unsafe { scan(scratch, value, 0, |a, b| a + b) }.exclusive;
///     if i < x.len() {
///         // SAFETY: `sums` is as long as `x`, and each thread writes its own.
///         unsafe { *sums.add(i) = before };
///     }
/// }
/// ```
///
/// # Safety
/// As for [`reduce`].
#[inline(always)]
pub unsafe fn scan<T: WarpShuffleValue + Copy>(
    scratch: *mut T,
    value: T,
    zero: T,
    combine: impl Fn(T, T) -> T,
) -> Scan<T> {
    let warp = thread_in_block() / 32;
    // SAFETY: every thread comes here.
    let own = unsafe { warp::scan(value, zero, &combine) };
    // SAFETY: likewise, and the scratch memory is the caller's promise.
    let (before, total) = unsafe {
        exchange(scratch, own.total, |totals, warps| {
            let (mut before, mut all) = (zero, zero);
            for other in 0..warps {
                before = if other == warp { all } else { before };
                all = combine(all, totals.of(other));
            }
            (before, all)
        })
    };
    Scan { inclusive: combine(before, own.inclusive), exclusive: combine(before, own.exclusive), total }
}

/// The values of a block's warps, between two barriers.
struct Totals<T>(*mut T);

impl<T: Copy> Totals<T> {
    #[inline(always)]
    fn of(&self, warp: usize) -> T {
        // SAFETY: every warp has written its element before the barrier, and none is written before the next.
        unsafe { *self.0.add(warp) }
    }
}

/// Each warp leaves a value, and all threads use them; `work` is given how many there are.
///
/// # Safety
/// Every thread of the block calls this. `scratch` is shared memory for one element of each warp, used by nothing else.
#[inline(always)]
unsafe fn exchange<T: Copy, U>(scratch: *mut T, own: T, work: impl Fn(Totals<T>, usize) -> U) -> U {
    let thread = thread_in_block();
    if thread.is_multiple_of(32) {
        // SAFETY: the caller's promise: an element for each warp, which this thread alone writes.
        unsafe { *scratch.add(thread / 32) = own };
    }
    thread::sync_threads();
    let made = work(Totals(scratch), threads_of_block().div_ceil(32));
    thread::sync_threads(); // the next value is written after all have read this one
    made
}
