//! Barriers that some threads miss, masks that name the wrong lanes, and waits without end.

use crate::case::{Unchecked, twins};
use crate::{block_index, thread_index};
use core::sync::atomic::Ordering::*;
use cuda_std::atomic::mid::*;
use cuda_std::thread::sync_threads;
use cuda_std::warp::{self, sync_warp};
use cuda_std::{ptx, shared_array};

twins! {
    /// Half of a warp meets at a barrier, the other half goes round it.
    Barrier half_a_warp {} |d| {
        let (tile, t) = (shared_array![u32; 64], thread_index());
        *tile.add(t) = d.input.at(t);
        if !BUG || t < 16 {
            sync_threads(); // <-
        }
        *d.output.add(t) = tile.at(t); // <-
    }

    /// One warp meets at a barrier, the other goes round it to the next.
    Barrier one_warp_of_two {} |d| {
        let (tile, t) = (shared_array![u32; 64], thread_index());
        *tile.add(t) = d.input.at(t);
        if !BUG || t < 32 {
            sync_threads(); // <-
        }
        *tile.add(t) += 1;
        sync_threads(); // <-
        *d.output.add(t) = tile.at(t);
    }

    /// Odd and even threads each have a barrier of their own.
    Barrier one_for_each_branch {} |d| {
        let (tile, t) = (shared_array![u32; 64], thread_index());
        if t % 2 == 1 {
            *tile.add(t) = d.input.at(t);
            if BUG {
                sync_threads(); // <-
            }
        } else {
            *tile.add(t) = d.input.at(t) + 1;
            if BUG {
                sync_threads(); // <-
            }
        }
        if !BUG {
            sync_threads();
        }
        *d.output.add(t) = tile.at(63 - t);
    }

    /// A loop with a barrier that threads leave after different numbers of turns.
    Barrier turns_from_data {} |d| {
        let (sums, t) = (shared_array![u32; 64], thread_index());
        *sums.add(t) = 0;
        let turns = if BUG { d.input.at(t) % 4 + 1 } else { 4 };
        for turn in 0..turns {
            *sums.add(t) += turn;
            sync_threads(); // <-
        }
        *d.output.add(t) = sums.at(t); // <-
    }

    /// A loop with a barrier that one warp leaves a turn early.
    Barrier turns_by_warp {} |d| {
        let (sums, t) = (shared_array![u32; 64], thread_index());
        *sums.add(t) = 0;
        let turns = if BUG && t < 32 { 3 } else { 4 };
        for turn in 0..turns + d.input.at(1000) {
            *sums.add(t) += turn;
            sync_threads(); // <-
        }
        *d.output.add(t) = sums.at(t); // <-
    }

    /// A reduction whose barrier stands inside the guard of the threads that still add.
    Barrier inside_the_guard { block: 128 } |d| {
        let (sums, t) = (shared_array![u32; 128], thread_index());
        *sums.add(t) = d.input.at(t);
        sync_threads();
        let mut half = 64;
        while half > 0 {
            if t < half {
                *sums.add(t) += sums.at(t + half);
                if BUG {
                    sync_threads(); // <-
                }
            }
            if !BUG {
                sync_threads();
            }
            half /= 2;
        }
        *d.output.add(t) = sums.at(0); // <-
    }

    /// A shuffle's mask names lanes that go round it.
    Barrier shuffle_names_too_many { block: 32 } |d| {
        let t = thread_index();
        let mut value = d.input.at(t);
        if t < 16 {
            let mask = if BUG { u32::MAX } else { 0xffff };
            value = warp::warp_shuffle_down(mask, value, 8, 16).0; // <-
        }
        *d.output.add(t) = value; // <-
    }

    /// A shuffle's mask leaves out lanes that execute it.
    Barrier shuffle_names_too_few { block: 32 } |d| {
        let t = thread_index();
        let mask = if BUG { 0xffff } else { u32::MAX };
        *d.output.add(t) = warp::warp_shuffle_xor(mask, d.input.at(t), 1, 32).0; // <-
    }

    /// Two branches vote in different ways, each with the mask of all.
    Barrier votes_in_two_branches { block: 32 } |d| {
        let t = thread_index();
        let yes = d.input.at(t) > 3;
        let votes = if t % 2 == 1 {
            warp::warp_vote_ballot(if BUG { u32::MAX } else { 0xaaaa_aaaa }, yes) // <-
        } else {
            u32::from(warp::warp_vote_any(if BUG { u32::MAX } else { 0x5555_5555 }, yes)) // <-
        };
        *d.output.add(t) = votes;
    }

    /// `sync_warp` with a mask that leaves out half of who executes it.
    Barrier sync_warp_names_too_few { block: 32 } |d| {
        let (values, t) = (shared_array![u32; 32], thread_index());
        *values.add(t) = d.input.at(t);
        if t < 16 {
            sync_warp(if BUG { 0xff } else { 0xffff }); // <-
            *d.output.add(t) = values.at(15 - t);
        }
    }

    /// `sync_warp` waits for a lane that is busy elsewhere with a barrier of the block.
    Barrier sync_warp_against_barrier { block: 32 } |d| {
        let t = thread_index();
        if t == 0 && BUG {
            sync_threads(); // <-
        } else {
            sync_warp(u32::MAX); // <-
        }
        sync_threads(); // <-
        *d.output.add(t) = 1;
    }

    /// A named barrier for more threads than ever come.
    Barrier named_for_too_many { block: 96 } |d| {
        let t = thread_index();
        if t < 64 {
            if BUG {
                ptx!("bar.sync 1, 96;", options(convergent)); // <-
            } else {
                ptx!("bar.sync 1, 64;", options(convergent));
            }
        }
        *d.output.add(t) = 1;
    }

    /// Producer and consumer wait at barriers of different numbers.
    Barrier named_by_the_wrong_number {} |d| {
        let (tile, t) = (shared_array![u32; 32], thread_index());
        if t < 32 {
            *tile.add(t) = d.input.at(t);
            ptx!("bar.sync 1, 64;", options(convergent)); // <-
        } else {
            if BUG {
                ptx!("bar.sync 2, 64;", options(convergent)); // <-
            } else {
                ptx!("bar.sync 1, 64;", options(convergent));
            }
            *d.output.add(t) = tile.at(t - 32);
        }
    }

    /// The producer arrives once too few.
    Barrier consumer_waits_in_vain {} |d| {
        let (tile, t) = (shared_array![u32; 32], thread_index());
        if t < 32 {
            for turn in 0..if BUG { 2 } else { 3 } {
                *tile.add(t) = d.input.at(t + turn);
                ptx!("bar.sync 1, 64;", options(convergent));
                ptx!("bar.sync 2, 64;", options(convergent));
            }
        } else {
            for turn in 0..3 {
                ptx!("bar.sync 1, 64;", options(convergent)); // <-
                *d.output.add(t + turn) = tile.at(t - 32);
                ptx!("bar.sync 2, 64;", options(convergent));
            }
        }
    }

    /// A barrier for a number of threads that is no multiple of a warp.
    Barrier named_for_half_a_warp { block: 64 } |d| {
        let t = thread_index();
        if t < 32 {
            // In a register: the assembler would refuse a constant of 16.
            let threads = if BUG { 16 } else { 32 } + d.input.at(1000);
            ptx!("bar.sync 1, {n};", n = in(u32) threads, options(convergent)); // <-
        }
        *d.output.add(t) = 1;
    }

    /// A flag that no thread sets.
    Barrier flag_never_set { grid: 2, block: 32 } |d| {
        if !BUG && block_index() == 0 {
            d.scratch.write_volatile(1);
        }
        if block_index() == 1 {
            while d.scratch.peek(0) == 0 {} // <-
        }
    }

    /// A lock that is never given back.
    Barrier lock_never_released { grid: 2, block: 32 } |d| {
        if thread_index() == 0 { // <-
            while atomic_compare_and_swap_u32_device(d.scratch, 0, 1, Acquire) != 0 {} // <-
            *d.scratch.add(1) += 1; // <-
            if !BUG {
                atomic_store_32_device(d.scratch, Release, 0);
            }
        }
    }

    /// Two locks taken in opposite orders.
    Barrier locks_in_opposite_orders { grid: 2, block: 32, hidden: true } |d| {
        if thread_index() == 0 {
            let swap = BUG && block_index() == 1;
            let (first, second) = (d.scratch.add(usize::from(swap)), d.scratch.add(usize::from(!swap)));
            for _ in 0..400 {
                while atomic_compare_and_swap_u32_device(first, 0, 1, Acquire) != 0 {} // <-
                while atomic_compare_and_swap_u32_device(second, 0, 1, Acquire) != 0 {} // <-
                *d.scratch.add(2) += 1;
                atomic_store_32_device(second, Release, 0);
                atomic_store_32_device(first, Release, 0);
            }
        }
    }

    /// A barrier of the grid that counts one block too many.
    Barrier grid_barrier_counts_wrong { grid: 3, block: 32 } |d| {
        if thread_index() == 0 {
            atomic_fetch_add_u32_device(d.scratch, AcqRel, 1);
            while atomic_load_32_device(d.scratch, Acquire) < if BUG { 4 } else { 3 } {} // <-
        }
        sync_threads();
        *d.output.add(block_index() * 32 + thread_index()) = 1;
    }

    /// A match among all lanes that half of them never join.
    Barrier match_names_too_many { block: 32 } |d| {
        let t = thread_index();
        if t < 16 {
            let mask = if BUG { u32::MAX } else { 0xffff };
            *d.output.add(t) = warp::warp_match_any(mask, d.input.at(t)); // <-
        }
        *d.output.add(32 + t) = 5; // <-
    }

    /// The last half of a warp has nothing to do and returns before the first barrier of the whole block.
    Parted half_a_warp_returns {} |d| {
        let (tile, t) = (shared_array![u32; 64], thread_index());
        if BUG && t >= 48 {
            return;
        }
        if t < 48 {
            *tile.add(t) = d.input.at(t); // <-
        }
        sync_threads(); // <-
        if t < 48 {
            *d.output.add(t) = tile.at(47 - t);
        }
    }

    /// The last half of a warp takes the branch without the barrier, and ends there.
    Parted barrier_for_a_part {} |d| {
        let (tile, t) = (shared_array![u32; 64], thread_index());
        if t < 48 {
            *tile.add(t) = d.input.at(t); // <-
            if BUG {
                sync_threads(); // <-
                *d.output.add(t) = tile.at(47 - t);
            }
        }
        if !BUG {
            sync_threads();
            if t < 48 {
                *d.output.add(t) = tile.at(47 - t);
            }
        }
    }
}
