//! Sums that a block leaves for another: what several have multiplied of one tile.
//!
//! Each warp has a flag and room for its sums, thread by thread, 16 bytes a lane at a time. Only the same warp of the other
//! block reads them, so a warp waits for a warp, and no block for a block. The flags are zero before a launch and after it.

use core::sync::atomic::Ordering;

use cuda_std::atomic::mid::{atomic_load_32_device, atomic_store_32_device};
use cuda_std::warp::sync_warp;
use tile::Vector;
use tile::hopper::{Sums, lane_here};
use tile::mma::Number;

use super::epilogue::Sum;

/// The room of all blocks in global memory, for warps that have `COUNT` sums a thread.
#[doc(alias = "stream-K")]
#[derive(Clone, Copy)]
pub struct PartialSums {
    words: *mut u32,
    /// All warps that have room.
    warps: u32,
}

impl PartialSums {
    /// Words for `warps` warps with `count` sums a thread.
    pub const fn words(warps: u32, count: u32) -> usize {
        warps as usize * (1 + 32 * count as usize)
    }

    /// The room at `words`, for this number of warps.
    ///
    /// # Safety
    /// [`words`](Self::words) words lie there, at a multiple of 16 bytes, used by nothing else; `warps` is a multiple of 4,
    /// and its flags, the first words, are zero.
    #[inline(always)]
    pub unsafe fn at(words: *mut u32, warps: u32) -> Self {
        Self { words, warps }
    }

    /// Where a lane's sums of warp `warp` begin.
    #[inline(always)]
    fn sums<S: Sums>(self, warp: u32, lane: u32) -> *mut u32 {
        let first = self.warps as usize + (warp * S::COUNT as u32 * 32 + lane * 4) as usize;
        self.words.wrapping_add(first)
    }

    /// Leaves the sums as those of warp `warp`.
    ///
    /// # Safety
    /// All lanes of that warp call it, once in a launch, with the sums of a product that is finished.
    #[inline(always)]
    pub unsafe fn leave<S: Sums<Sum: Sum>>(self, warp: u32, sums: &S) {
        let lane = lane_here();
        let to = self.sums::<S>(warp, lane);
        // SAFETY: the room is this warp's, and holds all its sums.
        unsafe {
            for i in 0..S::COUNT / 4 {
                cuda_std::unroll!(full);
                let word = |which: usize| sums.get(4 * i + which).to_bits();
                Vector::of_words([word(0), word(1), word(2), word(3)]).store(to.add(128 * i));
            }
            // All lanes' words come before the flag: a release reaches back over the barrier.
            sync_warp(u32::MAX);
            if lane == 0 {
                atomic_store_32_device(self.words.add(warp as usize), Ordering::Release, 1);
            }
        }
    }

    /// Waits for what `count` warps leave, `stride` apart from `first` on, and adds it, in this order.
    ///
    /// # Safety
    /// All lanes of a warp call it, once in a launch for those that leave their sums.
    #[inline(always)]
    pub unsafe fn add<S: Sums<Sum: Sum>>(self, first: u32, stride: u32, count: u32, sums: &mut S) {
        // Several at a time: one after the other, each would be waited for as long as memory takes to answer.
        const TOGETHER: u32 = 4;
        let lane = lane_here();
        // SAFETY: the flags say that the sums are there.
        unsafe {
            let mut part = lane;
            while part < count {
                cuda_std::unroll!(none);
                let flag = self.words.add((first + part * stride) as usize);
                while atomic_load_32_device(flag, Ordering::Acquire) == 0 {
                    cuda_std::unroll!(none);
                }
                // For the next launch.
                atomic_store_32_device(flag, Ordering::Relaxed, 0);
                part += 32;
            }
            sync_warp(u32::MAX);
            let mut part = 0;
            while S::COUNT <= 32 && part + TOGETHER <= count {
                cuda_std::unroll!(none);
                self.add_some::<S, { TOGETHER as usize }>(first + part * stride, stride, lane, sums);
                part += TOGETHER;
            }
            while part < count {
                cuda_std::unroll!(none);
                self.add_some::<S, 1>(first + part * stride, stride, lane, sums);
                part += 1;
            }
        }
    }

    /// Adds what `COUNT` warps have left.
    #[inline(always)]
    unsafe fn add_some<S: Sums<Sum: Sum>, const COUNT: usize>(
        self,
        first: u32,
        stride: u32,
        lane: u32,
        sums: &mut S,
    ) {
        for i in 0..S::COUNT / 4 {
            cuda_std::unroll!(full);
            for part in 0..COUNT {
                cuda_std::unroll!(full);
                // SAFETY: the room of a warp, which has left its sums.
                unsafe {
                    let from = self.sums::<S>(first + part as u32 * stride, lane);
                    let words = Vector::load(from.add(128 * i)).words();
                    for which in 0..4 {
                        cuda_std::unroll!(full);
                        let sum = sums.get(4 * i + which).plus(1.0, S::Sum::from_bits(words[which]));
                        sums.set(4 * i + which, sum);
                    }
                }
            }
        }
    }
}
