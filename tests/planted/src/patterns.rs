//! Bugs in the patterns that larger kernels are made of: compaction, sorting networks, stages of a ring, sums by warp.

use crate::case::{Unchecked, twins};
use crate::{block_index, thread_index};
use core::sync::atomic::Ordering::*;
use cuda_std::atomic::mid::*;
use cuda_std::shared_array;
use cuda_std::thread::sync_threads;
use cuda_std::warp;

twins! {
    /// Sums of warps, gathered by the first warp before the others have stored theirs.
    Race warp_sums_gathered_early { block: 128 } |d| {
        let (sums, t) = (shared_array![u32; 4], thread_index());
        let mut sum = d.input.at(t);
        for distance in [16, 8, 4, 2, 1] {
            sum += warp::warp_shuffle_xor(u32::MAX, sum, distance, 32).0;
        }
        if t % 32 == 0 {
            *sums.add(t / 32) = sum; // <-
        }
        if !BUG {
            sync_threads();
        }
        if t == 0 {
            *d.output = sums.at(0) + sums.at(1) + sums.at(2) + sums.at(3); // <-
        }
    }

    /// A compare-and-swap step of a sorting network begins before the last has ended.
    Race bitonic_step {} |d| {
        let (keys, t) = (shared_array![u32; 64], thread_index());
        *keys.add(t) = d.input.at(t);
        sync_threads();
        let mut size = 2;
        while size <= 64 {
            let mut stride = size / 2;
            while stride > 0 {
                let other = t ^ stride;
                if other > t {
                    let (a, b) = (keys.at(t), keys.at(other)); // <-
                    if (a > b) == (t & size == 0) {
                        *keys.add(t) = b; // <-
                        *keys.add(other) = a; // <-
                    }
                }
                if !BUG || stride > 1 {
                    sync_threads();
                }
                stride /= 2;
            }
            size *= 2;
        }
        sync_threads();
        *d.output.add(t) = keys.at(t);
    }

    /// Elements are written to the places that a scan gives, one place too far.
    Memory compaction_off_by_one { block: 64 } |d| {
        let t = thread_index();
        let keep = d.input.at(t) > 4;
        let mask = warp::warp_vote_ballot(u32::MAX, keep);
        let before = (mask & ((1 << (t % 32)) - 1)).count_ones() as usize;
        // The last 32 words of the output take what is kept.
        let place = d.n as usize - mask.count_ones() as usize + before + usize::from(BUG);
        if keep && t < 32 {
            *d.output.add(place) = d.input.at(t); // <-
        }
    }

    /// Two buffers in turn: the step writes the one that its neighbours still read.
    Race ping_without_pong {} |d| {
        let (cells, t) = (shared_array![u32; 128], thread_index());
        *cells.add(t) = d.input.at(t);
        *cells.add(64 + t) = 0;
        sync_threads();
        for step in 0..3 {
            let (from, to) = (step % 2 * 64, if BUG { step % 2 * 64 } else { (step + 1) % 2 * 64 });
            let sum = cells.at(from + (t + 63) % 64) + cells.at(from + (t + 1) % 64); // <-
            *cells.add(to + t) = sum; // <-
            sync_threads();
        }
        *d.output.add(t) = cells.at(t) + cells.at(64 + t);
    }

    /// A private histogram is added to the common one while others still count in it.
    Race privatised_histogram { grid: 2 } |d| {
        let (bins, t) = (shared_array![u32; 16], thread_index());
        if t < 16 {
            *bins.add(t) = 0;
        }
        sync_threads();
        atomic_fetch_add_u32_block(bins.add(d.input.at(block_index() * 64 + t) as usize), Relaxed, 1); // <-
        if !BUG {
            sync_threads();
        }
        if t < 16 {
            atomic_fetch_add_u32_device(d.scratch.add(t), Relaxed, bins.at(t)); // <-
        }
    }

    /// The stage of a ring that is filled is the one that is read.
    Race ring_without_a_free_stage {} |d| {
        let (ring, t) = (shared_array![u32; 192], thread_index());
        *ring.add(t) = d.input.at(t); // <-
        let mut sum = 0;
        for step in 0..6 {
            sync_threads();
            let next = if BUG { step % 3 } else { (step + 1) % 3 };
            *ring.add(next * 64 + t) = d.input.at((step + 1) * 64 + t); // <-
            sum += ring.at(step % 3 * 64 + (t + 32) % 64); // <-
        }
        *d.output.add(t) = sum;
    }

    /// A matrix is read column by column with the pitch of another.
    Memory pitch_of_another {} |d| {
        let t = thread_index();
        let pitch = if BUG { 32 } else { 16 } + d.input.at(1000) as usize;
        let mut sum = 0;
        for row in 0..16 {
            sum += d.input.at(d.n as usize - 16 * 16 + row * pitch + t % 16); // <-
        }
        *d.output.add(t) = sum;
    }

    /// The last part of a split sum is left out, and the host reads its place.
    Init split_sum_left_out { grid: 2, reads: 8 } |d| {
        let t = thread_index();
        let parts = if BUG { 3 } else { 4 };
        if t < parts {
            let mut sum = 0;
            for i in 0..16 {
                sum += d.input.at((block_index() * 4 + t) * 16 + i);
            }
            *d.output.add(block_index() * 4 + t) = sum; // <-
        }
    }

    /// A thread leaves a loop of barriers when its own work is done.
    Barrier leaves_the_loop {} |d| {
        let (tile, t) = (shared_array![u32; 64], thread_index());
        let mut sum = 0;
        let mine = if BUG { t / 32 + 2 } else { 3 };
        let mut turn = 0;
        while turn < mine {
            *tile.add(t) = d.input.at(turn * 64 + t);
            sync_threads(); // <-
            sum += tile.at(63 - t);
            sync_threads(); // <-
            turn += 1;
        }
        *d.output.add(t) = sum;
    }

    /// Rows that two blocks share at their border are written by both.
    Race shared_border { grid: 4 } |d| {
        let t = thread_index();
        let first = block_index() * if BUG { 63 } else { 64 };
        *d.output.add(first + t) = d.input.at(block_index() * 64 + t) + block_index() as u32; // <-
    }
}
