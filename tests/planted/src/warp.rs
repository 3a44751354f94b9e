//! Races within a warp: lanes need not run together, and only `sync_warp` orders them.

use crate::case::{Unchecked, twins};
use crate::thread_index;
use core::sync::atomic::Ordering::*;
use cuda_std::atomic::mid::*;
use cuda_std::shared_array;
use cuda_std::thread::sync_threads;
use cuda_std::warp::{self, sync_warp};

twins! {
    /// A neighbour's value is read with no `sync_warp` after it was written.
    Race neighbour_lane { block: 32 } |d| {
        let (values, t) = (shared_array![u32; 32], thread_index());
        *values.add(t) = d.input.at(t); // <-
        if !BUG {
            sync_warp(u32::MAX);
        }
        *d.output.add(t) = values.at(t ^ 1); // <-
    }

    /// A reduction in one warp that trusts the lanes to run together.
    Race warp_reduction { block: 32 } |d| {
        let (sums, t) = (shared_array![u32; 64], thread_index());
        *sums.add(t) = d.input.at(t);
        *sums.add(32 + t) = 0;
        sync_warp(u32::MAX);
        let mut half = 16;
        while half > 0 {
            let other = sums.at(t + half); // <-
            if !BUG {
                sync_warp(u32::MAX);
            }
            *sums.add(t) += other; // <-
            sync_warp(u32::MAX);
            half /= 2;
        }
        *d.output.add(t) = sums.at(t);
    }

    /// The same with `volatile`, as it was written for chips whose lanes did run together.
    Race warp_reduction_volatile { block: 64 } |d| {
        let (sums, t) = (shared_array![u32; 64], thread_index());
        *sums.add(t) = d.input.at(t);
        sync_threads();
        if t < 32 {
            let mut half = 32;
            while half > 0 {
                let sum = sums.peek(t) + sums.peek((t + half) % 64); // <-
                if !BUG {
                    sync_warp(u32::MAX);
                }
                sums.add(t).write_volatile(sum); // <-
                if !BUG {
                    sync_warp(u32::MAX);
                }
                half /= 2;
            }
        }
        if t == 0 {
            *d.output = sums.at(0);
        }
    }

    /// Half of the warp writes in a branch, the other half reads in another.
    Race across_a_branch { block: 32 } |d| {
        let (values, t) = (shared_array![u32; 32], thread_index());
        *values.add(t) = 0;
        sync_warp(u32::MAX);
        if t < 16 {
            *values.add(t) = d.input.at(t); // <-
        }
        if !BUG {
            sync_warp(u32::MAX);
        }
        if t >= 16 {
            *d.output.add(t) = values.at(t - 16); // <-
        }
    }

    /// A vote brings lanes together, and orders no memory.
    Race vote_is_no_barrier { block: 32 } |d| {
        let (values, t) = (shared_array![u32; 32], thread_index());
        *values.add(t) = d.input.at(t); // <-
        if BUG {
            *d.scratch.add(t) = u32::from(warp::warp_vote_all(u32::MAX, d.input.at(t) < 99));
        } else {
            sync_warp(u32::MAX);
        }
        *d.output.add(t) = values.at(31 - t); // <-
    }

    /// A shuffle brings lanes together, and orders no memory.
    Race shuffle_is_no_barrier { block: 32 } |d| {
        let (values, t) = (shared_array![u32; 32], thread_index());
        *values.add(t) = d.input.at(t); // <-
        let (other, _) = warp::warp_shuffle_xor(u32::MAX, d.input.at(t), 1, 32);
        if !BUG {
            sync_warp(u32::MAX);
        }
        *d.output.add(t) = values.at(31 - t) + other; // <-
    }

    /// `sync_warp` of each half does not order the halves with each other.
    Race half_masks { block: 32 } |d| {
        let (values, t) = (shared_array![u32; 32], thread_index());
        *values.add(t) = d.input.at(t); // <-
        if BUG {
            sync_warp(if t < 16 { 0xffff } else { 0xffff_0000 });
        } else {
            sync_warp(u32::MAX);
        }
        *d.output.add(t) = values.at(31 - t); // <-
    }

    /// Each pair of lanes writes one place.
    Race pairs_collide { block: 32 } |d| {
        let (values, t) = (shared_array![u32; 32], thread_index());
        *values.add(if BUG { t / 2 } else { t }) = t as u32; // <-
        sync_warp(u32::MAX);
        *d.output.add(t) = values.at(t / 2);
    }

    /// A transpose of 32 values between lanes, read straight after the write.
    Race lane_exchange { block: 32 } |d| {
        let (values, t) = (shared_array![u32; 33], thread_index());
        for turn in 0..3 {
            *values.add(t) = d.input.at(t + turn); // <-
            sync_warp(u32::MAX);
            *d.output.add(t) = values.at((t * 5) % 32); // <-
            if !BUG {
                sync_warp(u32::MAX);
            }
        }
    }

    /// A warp keeps its sum where lane 0 writes and all read.
    Race warp_leader { block: 64 } |d| {
        let (sums, t) = (shared_array![u32; 2], thread_index());
        let (other, _) = warp::warp_shuffle_xor(u32::MAX, d.input.at(t), 16, 32);
        if t % 32 == 0 {
            *sums.add(t / 32) = other; // <-
        }
        if !BUG {
            sync_warp(u32::MAX);
        }
        *d.output.add(t) = sums.at(t / 32) + 1; // <-
    }

    /// Each warp's sum goes to shared memory, and the first warp adds them too early.
    Race sums_of_warps { block: 128 } |d| {
        let (sums, t) = (shared_array![u32; 4], thread_index());
        let mut sum = d.input.at(t);
        for delta in [16, 8, 4, 2, 1] {
            sum += warp::warp_shuffle_down(u32::MAX, sum, delta, 32).0;
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

    /// Lanes count with a plain addition what an atomic or a vote would count.
    Race lanes_count { block: 32 } |d| {
        let (count, t) = (shared_array![u32; 1], thread_index());
        if t == 0 {
            *count = 0;
        }
        sync_warp(u32::MAX);
        if d.input.at(t) % 2 == 1 {
            if BUG {
                *count += 1; // <-
            } else {
                atomic_fetch_add_u32_block(count, Relaxed, 1);
            }
        }
        sync_warp(u32::MAX);
        *d.output.add(t) = count.at(0);
    }
}
