//! Values that the lanes of a warp and the warps of a block combine, of any type of whole words.

use core::mem::{MaybeUninit, size_of};

use cuda_std::thread;
use cuda_std::warp::{warp_shuffle_idx, warp_shuffle_up, warp_shuffle_xor};

/// The value with each of its words replaced.
#[inline(always)]
fn by_words<V: Copy>(value: V, replace: impl Fn(u32) -> u32) -> V {
    const {
        assert!(size_of::<V>().is_multiple_of(4), "a value is whole words of 4 bytes");
    }
    let mut replaced = MaybeUninit::<V>::uninit();
    // SAFETY: the value has this number of words, none of them padding, as `Operation` asks.
    unsafe {
        let (from, to) = ((&raw const value).cast::<u32>(), replaced.as_mut_ptr().cast::<u32>());
        for word in 0..size_of::<V>() / 4 {
            cuda_std::unroll!(full);
            to.add(word).write_unaligned(replace(from.add(word).read_unaligned()));
        }
        replaced.assume_init()
    }
}

/// The value of the lane whose number differs in the bits of `mask`.
///
/// # Safety
/// All lanes of the warp come by.
#[inline(always)]
pub unsafe fn exchange<V: Copy>(value: V, mask: u32) -> V {
    // SAFETY: the caller's promise.
    by_words(value, |word| unsafe { warp_shuffle_xor(u32::MAX, word, mask, 32).0 })
}

/// The value of the lane `distance` before this one; the first lanes keep their own.
///
/// # Safety
/// All lanes of the warp come by.
#[inline(always)]
pub unsafe fn before<V: Copy>(value: V, distance: u32) -> V {
    // SAFETY: the caller's promise.
    by_words(value, |word| unsafe { warp_shuffle_up(u32::MAX, word, distance, 32).0 })
}

/// The value of one lane.
///
/// # Safety
/// All lanes of the warp come by.
#[inline(always)]
pub unsafe fn of_lane<V: Copy>(value: V, lane: u32) -> V {
    // SAFETY: the caller's promise.
    by_words(value, |word| unsafe { warp_shuffle_idx(u32::MAX, word, lane, 32).0 })
}

/// This thread's lane.
#[inline(always)]
pub fn lane() -> u32 {
    thread::thread_idx_x() % 32
}

/// The value of all lanes' values: the same for each, if the operation is commutative.
///
/// # Safety
/// All lanes of the warp come by.
#[inline(always)]
pub unsafe fn reduce_warp<V: Copy>(mut value: V, combine: impl Fn(V, V) -> V) -> V {
    for bit in 0..5 {
        cuda_std::unroll!(full);
        // SAFETY: the caller's promise.
        value = combine(value, unsafe { exchange(value, 16 >> bit) });
    }
    value
}

/// The value of all threads' values, for each of a line of `WARPS` warps.
///
/// # Safety
/// All threads of the block come by; `of_warps` is shared memory for `WARPS` values, which no thread reads or writes before all
/// have come, and which none writes after it before the next barrier.
#[inline(always)]
pub unsafe fn reduce_block<V: Copy, const WARPS: usize>(
    of_warps: *mut V,
    value: V,
    combine: impl Fn(V, V) -> V,
) -> V {
    const { assert!(WARPS.is_power_of_two() && WARPS <= 32, "each warp combines all warps' values by shuffles") }
    // SAFETY: the caller's promise; each warp has a place of its own, and a barrier parts writing from reading.
    unsafe {
        let value = reduce_warp(value, &combine);
        if lane() == 0 {
            *of_warps.add(thread::thread_idx_x() as usize / 32) = value;
        }
        thread::sync_threads();
        let mut all = *of_warps.add(lane() as usize % WARPS);
        let mut mask = WARPS as u32 / 2;
        while mask > 0 {
            cuda_std::unroll!(full);
            all = combine(all, exchange(all, mask));
            mask /= 2;
        }
        all
    }
}
