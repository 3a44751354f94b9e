//! Values that the lanes of a warp and the warps of a block combine, of any type of whole words.

use core::mem::{MaybeUninit, size_of};

use cuda_std::thread;
use cuda_std::warp::warp_shuffle_xor;

/// The value of the lane whose number differs in the bits of `mask`, word by word.
///
/// # Safety
/// All lanes of the warp come by, and a value has no padding.
#[inline(always)]
unsafe fn exchange<V: Copy>(value: V, mask: u32) -> V {
    const {
        assert!(size_of::<V>().is_multiple_of(4), "a value is whole words of 4 bytes");
    }
    let mut other = MaybeUninit::<V>::uninit();
    // SAFETY: the value has this number of words, each of them initialised, and all lanes come by.
    unsafe {
        let (from, to) = ((&raw const value).cast::<u32>(), other.as_mut_ptr().cast::<u32>());
        for word in 0..size_of::<V>() / 4 {
            cuda_std::unroll!(full);
            to.add(word)
                .write_unaligned(warp_shuffle_xor(u32::MAX, from.add(word).read_unaligned(), mask, 32).0);
        }
        other.assume_init()
    }
}

/// This thread's lane.
#[inline(always)]
fn lane() -> u32 {
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
