//! Values that the lanes of a warp and the warps of a block combine, of any type of whole words.

use core::mem::{MaybeUninit, size_of};

use cuda_std::thread;
use cuda_std::warp::{warp_shuffle_idx, warp_shuffle_up, warp_shuffle_xor};

/// A value by what each of its words becomes.
///
/// # Safety
/// A value has no padding, and the words make one.
#[inline(always)]
pub unsafe fn by_words<V: Copy>(value: V, of_word: impl Fn(u32) -> u32) -> V {
    const {
        assert!(size_of::<V>().is_multiple_of(4), "a value is whole words of 4 bytes");
    }
    let mut other = MaybeUninit::<V>::uninit();
    // SAFETY: the value has this number of words, each of them initialised.
    unsafe {
        let (from, to) = ((&raw const value).cast::<u32>(), other.as_mut_ptr().cast::<u32>());
        for word in 0..size_of::<V>() / 4 {
            cuda_std::unroll!(full);
            to.add(word).write_unaligned(of_word(from.add(word).read_unaligned()));
        }
        other.assume_init()
    }
}

/// The value of the lane whose number differs in the bits of `mask`.
///
/// # Safety
/// All lanes of the warp come by, and a value has no padding.
#[inline(always)]
unsafe fn exchange<V: Copy>(value: V, mask: u32) -> V {
    // SAFETY: the caller's promise; a lane's words make its value.
    unsafe { by_words(value, |word| warp_shuffle_xor(u32::MAX, word, mask, 32).0) }
}

/// The value of a lane.
///
/// # Safety
/// As of `exchange`.
#[inline(always)]
pub unsafe fn of_lane<V: Copy>(value: V, lane: u32) -> V {
    // SAFETY: the caller's promise; a lane's words make its value.
    unsafe { by_words(value, |word| warp_shuffle_idx(u32::MAX, word, lane, 32).0) }
}

/// The value of the lane `distance` before this one; the first lanes get their own.
///
/// # Safety
/// As of `exchange`.
#[inline(always)]
pub unsafe fn of_lane_before<V: Copy>(value: V, distance: u32) -> V {
    // SAFETY: the caller's promise; a lane's words make its value.
    unsafe { by_words(value, |word| warp_shuffle_up(u32::MAX, word, distance, 32).0) }
}

/// The value of this and all lanes before it, in their order, for the first `n` values of each.
///
/// # Safety
/// As of `exchange`.
#[inline(always)]
pub unsafe fn scan_warp<V: Copy, const MOST: usize>(
    values: &mut [V; MOST],
    n: usize,
    combine: impl Fn(V, V) -> V,
) {
    for step in 0..5 {
        cuda_std::unroll!(full);
        // Shuffles of all values side by side: each alone waits for the one before.
        for i in 0..n {
            cuda_std::unroll!(full);
            // SAFETY: the caller's promise.
            let before = unsafe { of_lane_before(values[i], 1 << step) };
            if lane() >= 1 << step {
                values[i] = combine(before, values[i]);
            }
        }
    }
}

/// This thread's lane.
#[inline(always)]
pub fn lane() -> u32 {
    thread::thread_idx_x() % 32
}

/// The value of all lanes' values: the same for each, if the operation is commutative.
///
/// # Safety
/// All lanes of the warp come by, and a value has no padding.
#[inline(always)]
pub unsafe fn reduce_warp<V: Copy>(mut value: V, combine: impl Fn(V, V) -> V) -> V {
    for bit in 0..5 {
        cuda_std::unroll!(full);
        // SAFETY: the caller's promise.
        value = combine(value, unsafe { exchange(value, 16 >> bit) });
    }
    value
}

/// The value of all threads' values, for each of a line of `THREADS` threads.
///
/// # Safety
/// All threads of the block come by, and a value has no padding; `of_warps` is shared memory for a value of each warp, which no thread reads or writes before all
/// have come, and which none writes after it before the next barrier.
#[inline(always)]
pub unsafe fn reduce_block<V: Copy, const THREADS: usize>(
    of_warps: *mut V,
    value: V,
    combine: impl Fn(V, V) -> V,
) -> V {
    const {
        let warps = THREADS / 32;
        assert!(
            warps * 32 == THREADS && warps.is_power_of_two() && warps <= 32,
            "shuffles combine all warps' values"
        );
    }
    // SAFETY: the caller's promise; each warp has a place of its own, and a barrier parts writing from reading.
    unsafe {
        let value = reduce_warp(value, &combine);
        if lane() == 0 {
            *of_warps.add(thread::thread_idx_x() as usize / 32) = value;
        }
        thread::sync_threads();
        let mut all = *of_warps.add(lane() as usize % (THREADS / 32));
        let mut mask = THREADS as u32 / 64;
        while mask > 0 {
            cuda_std::unroll!(full);
            all = combine(all, exchange(all, mask));
            mask /= 2;
        }
        all
    }
}
