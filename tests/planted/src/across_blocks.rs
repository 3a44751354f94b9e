//! Races between blocks: nothing orders them but atomics and fences of a scope that reaches.

use crate::case::{Unchecked, twins};
use crate::{block_index, global_index, thread_index};
use core::sync::atomic::Ordering::*;
use cuda_std::atomic::mid::*;
use cuda_std::shared_array;
use cuda_std::thread::{grid_dim_x, sync_threads};

twins! {
    /// Blocks write ranges that overlap by one.
    Race overlapping_ranges { grid: 4 } |d| {
        let at = block_index() * if BUG { 63 } else { 64 } + thread_index();
        *d.scratch.add(at) = global_index() as u32; // <-
    }

    /// A block reads what the next one writes.
    Race next_blocks_values { grid: 4 } |d| {
        *d.scratch.add(global_index()) = d.input.at(global_index()); // <-
        sync_threads();
        let from = if BUG { (global_index() + 64) % 256 } else { block_index() * 64 + (thread_index() + 1) % 64 };
        *d.output.add(global_index()) = d.scratch.at(from); // <-
    }

    /// A histogram in global memory counts with plain additions.
    Race histogram_global { grid: 4 } |d| {
        let bin = d.scratch.add(d.input.at(global_index()) as usize);
        if BUG {
            *bin += 1; // <-
        } else {
            atomic_fetch_add_u32_device(bin, Relaxed, 1);
        }
    }

    /// Blocks count together with atomics that reach no further than a block.
    Race atomic_of_block_scope { grid: 4 } |d| {
        if BUG {
            atomic_fetch_add_u32_block(d.scratch, Relaxed, 1); // <-
        } else {
            atomic_fetch_add_u32_device(d.scratch, Relaxed, 1);
        }
    }

    /// A work list whose end is moved by a plain read and write.
    Race work_list { grid: 4 } |d| {
        if d.input.at(global_index()) % 2 == 1 {
            let at = if BUG {
                let end = d.scratch.at(0); // <-
                *d.scratch = end + 1; // <-
                end
            } else {
                atomic_fetch_add_u32_device(d.scratch, Relaxed, 1)
            };
            *d.output.add(at as usize) = global_index() as u32;
        }
    }

    /// A largest value kept by compare and plain store.
    Race running_maximum { grid: 4 } |d| {
        let value = d.input.at(global_index()) + global_index() as u32;
        if BUG {
            if d.scratch.at(0) < value { // <-
                *d.scratch = value; // <-
            }
        } else {
            atomic_fetch_max_u32_device(d.scratch, Relaxed, value);
        }
    }

    /// Levels of a breadth-first search: many parents write one child's level, the same number each.
    Equal equal_levels { grid: 4 } |d| {
        let child = d.scratch.add(d.input.at(global_index()) as usize);
        if BUG {
            *child = 1; // <-
        } else {
            atomic_fetch_max_u32_device(child, Relaxed, 1);
        }
    }

    /// Parents of a breadth-first search: the last writer wins, and is another each time.
    Race parents { grid: 4 } |d| {
        let child = d.scratch.add(d.input.at(global_index()) as usize);
        if BUG {
            *child = global_index() as u32; // <-
        } else {
            atomic_fetch_max_u32_device(child, Relaxed, global_index() as u32);
        }
    }

    /// A message and its flag, without a fence between them.
    Race message_without_fence { grid: 2 } |d| {
        let flag = d.scratch.add(32);
        if thread_index() == 0 && block_index() == 0 {
            *d.scratch = 42; // <-
            if !BUG {
                device_thread_fence(AcqRel);
            }
            flag.write_volatile(1);
        } else if thread_index() == 0 {
            while flag.read_volatile() == 0 {}
            device_thread_fence(AcqRel);
            *d.output = d.scratch.at(0); // <-
        }
    }

    /// A message, its flag, and a fence that reaches no further than the block.
    Race message_with_block_fence { grid: 2 } |d| {
        let flag = d.scratch.add(32);
        if thread_index() == 0 && block_index() == 0 {
            *d.scratch = 42; // <-
            if BUG {
                block_thread_fence(AcqRel);
            } else {
                device_thread_fence(AcqRel);
            }
            flag.write_volatile(1);
        } else if thread_index() == 0 {
            while flag.read_volatile() == 0 {}
            device_thread_fence(AcqRel);
            *d.output = d.scratch.at(0); // <-
        }
    }

    /// The reader of a message waits for its flag and forgets the fence on its own side.
    Race message_without_acquire { grid: 2 } |d| {
        let flag = d.scratch.add(32);
        if thread_index() == 0 && block_index() == 0 {
            *d.scratch = 42; // <-
            device_thread_fence(AcqRel);
            flag.write_volatile(1);
        } else if thread_index() == 0 {
            while flag.read_volatile() == 0 {}
            if !BUG {
                device_thread_fence(AcqRel);
            }
            *d.output = d.scratch.at(0); // <-
        }
    }

    /// The one who waited for a flag stores where the other did, and forgets the fence on its own side.
    Race store_without_acquire { grid: 2 } |d| {
        let flag = d.scratch.add(32);
        if thread_index() == 0 && block_index() == 0 {
            *d.scratch = 42; // <-
            device_thread_fence(AcqRel);
            flag.write_volatile(1);
        } else if thread_index() == 0 {
            while flag.read_volatile() == 0 {}
            if !BUG {
                device_thread_fence(AcqRel);
            }
            *d.scratch = 43; // <-
        }
    }

    /// All threads count through a `volatile` pointer: each load and each store is whole, and updates are lost.
    Equal volatile_counter { grid: 4 } |d| {
        if BUG {
            let seen = d.scratch.read_volatile(); // <-
            d.scratch.write_volatile(seen + 1); // <-
        } else {
            atomic_fetch_add_u32_device(d.scratch, Relaxed, 1);
        }
    }

    /// Flag and message are `volatile`, which orders neither.
    Equal volatile_message { grid: 2 } |d| {
        let flag = d.scratch.add(32);
        if thread_index() == 0 && block_index() == 0 {
            d.scratch.write_volatile(42); // <-
            if !BUG {
                device_thread_fence(AcqRel);
            }
            flag.write_volatile(1);
        } else if thread_index() == 0 {
            while flag.read_volatile() == 0 {}
            if !BUG {
                device_thread_fence(AcqRel);
            }
            *d.output = d.scratch.read_volatile(); // <-
        }
    }

    /// A flag that is stored as `relaxed` where it must be `release`.
    Race relaxed_for_release { grid: 2 } |d| {
        let flag = d.scratch.add(32);
        if thread_index() == 0 && block_index() == 0 {
            *d.scratch = 42; // <-
            atomic_store_32_device(flag, if BUG { Relaxed } else { Release }, 1);
        } else if thread_index() == 0 {
            while atomic_load_32_device(flag, Acquire) == 0 {}
            *d.output = d.scratch.at(0); // <-
        }
    }

    /// A flag that is loaded as `relaxed` where it must be `acquire`.
    Race relaxed_for_acquire { grid: 2 } |d| {
        let flag = d.scratch.add(32);
        if thread_index() == 0 && block_index() == 0 {
            *d.scratch = 42; // <-
            atomic_store_32_device(flag, Release, 1);
        } else if thread_index() == 0 {
            while atomic_load_32_device(flag, if BUG { Relaxed } else { Acquire }) == 0 {}
            *d.output = d.scratch.at(0); // <-
        }
    }

    /// A flag with the right orders at the scope of one block.
    Race flag_of_block_scope { grid: 2 } |d| {
        let flag = d.scratch.add(32);
        if thread_index() == 0 && block_index() == 0 {
            *d.scratch = 42; // <-
            if BUG {
                atomic_store_32_block(flag, Release, 1); // <-
            } else {
                atomic_store_32_device(flag, Release, 1);
            }
        } else if thread_index() == 0 {
            while atomic_load_32_device(flag, Acquire) == 0 {} // <-
            *d.output = d.scratch.at(0); // <-
        }
    }

    /// A flag that is an ordinary variable.
    Race plain_flag { grid: 2 } |d| {
        let flag = d.scratch.add(32);
        if thread_index() == 0 && block_index() == 0 {
            *d.scratch = 42;
            device_thread_fence(AcqRel);
            if BUG {
                *flag = 1; // <-
            } else {
                flag.write_volatile(1);
            }
        } else if thread_index() == 0 {
            let there = if BUG { flag.at(0) } else { flag.peek(0) }; // <-
            device_thread_fence(AcqRel);
            *d.output = if there == 1 { d.scratch.at(0) } else { 0 };
        }
    }

    /// A lock that orders nothing: no fence after taking it, none before giving it back.
    Race lock_without_fences { grid: 4 } |d| {
        let lock = d.scratch.add(1);
        if thread_index() == 0 {
            while atomic_compare_and_swap_u32_device(lock, 0, 1, Relaxed) != 0 {}
            if !BUG {
                device_thread_fence(AcqRel);
            }
            *d.scratch += 1; // <-
            if !BUG {
                device_thread_fence(AcqRel);
            }
            atomic_fetch_exch_u32_device(lock, Relaxed, 0);
        }
    }

    /// A lock that is given back without a fence.
    Race lock_without_release { grid: 4 } |d| {
        let lock = d.scratch.add(1);
        if thread_index() == 0 {
            while atomic_compare_and_swap_u32_device(lock, 0, 1, Acquire) != 0 {}
            *d.scratch += 1; // <-
            atomic_fetch_exch_u32_device(lock, if BUG { Relaxed } else { Release }, 0);
        }
    }

    /// A lock that is given back by an ordinary store.
    Race lock_plain_unlock { grid: 4 } |d| {
        let lock = d.scratch.add(1);
        if thread_index() == 0 {
            while atomic_compare_and_swap_u32_device(lock, 0, 1, Acquire) != 0 {} // <-
            *d.scratch += 1;
            device_thread_fence(AcqRel);
            if BUG {
                *lock = 0; // <-
            } else {
                atomic_fetch_exch_u32_device(lock, Relaxed, 0);
            }
        }
    }

    /// A lock of block scope for data of the whole grid.
    Race lock_of_block_scope { grid: 4 } |d| {
        let lock = d.scratch.add(1);
        if thread_index() == 0 {
            if BUG {
                while atomic_compare_and_swap_u32_block(lock, 0, 1, Acquire) != 0 {} // <-
            } else {
                while atomic_compare_and_swap_u32_device(lock, 0, 1, Acquire) != 0 {}
            }
            *d.scratch += 1; // <-
            if BUG {
                atomic_fetch_exch_u32_block(lock, Release, 0); // <-
            } else {
                atomic_fetch_exch_u32_device(lock, Release, 0);
            }
        }
    }

    /// One writer takes the lock, the other does not.
    Race lock_taken_by_one { grid: 4 } |d| {
        let lock = d.scratch.add(1);
        if thread_index() == 0 {
            let careful = !BUG || block_index() != 2;
            if careful {
                while atomic_compare_and_swap_u32_device(lock, 0, 1, Acquire) != 0 {}
            }
            *d.scratch += 1; // <-
            if careful {
                atomic_fetch_exch_u32_device(lock, Release, 0);
            }
        }
    }

    /// The last block adds what all wrote, and no fence has made it visible.
    Race last_block_without_fence { grid: 8 } |d| {
        let (last, t) = (shared_array![u32; 1], thread_index());
        if t == 0 {
            *d.scratch.add(8 + block_index()) = d.input.at(block_index()); // <-
            if !BUG {
                device_thread_fence(AcqRel);
            }
            *last = u32::from(atomic_fetch_add_u32_device(d.scratch, Relaxed, 1) == grid_dim_x() - 1);
        }
        sync_threads();
        if last.at(0) == 1 && t < 8 {
            *d.output.add(t) = d.scratch.at(8 + t); // <-
        }
    }

    /// The last block is known to one thread; the others look too early.
    Race last_block_without_barrier { grid: 8 } |d| {
        let (last, t) = (shared_array![u32; 1], thread_index());
        if t == 0 {
            *d.scratch.add(8 + block_index()) = d.input.at(block_index());
            device_thread_fence(AcqRel);
            *last = u32::from(atomic_fetch_add_u32_device(d.scratch, Relaxed, 1) == grid_dim_x() - 1); // <-
        }
        if !BUG {
            sync_threads();
        }
        if last.at(0) == 1 && t < 8 { // <-
            *d.output.add(t) = d.scratch.at(8 + t);
        }
    }

    /// The last block is found before all of its own threads have written.
    Race last_block_counts_early { grid: 4 } |d| {
        let (last, t) = (shared_array![u32; 1], thread_index());
        *d.scratch.add(64 + global_index()) = d.input.at(global_index()); // <-
        device_thread_fence(AcqRel);
        if !BUG {
            sync_threads();
        }
        if t == 0 {
            *last = u32::from(atomic_fetch_add_u32_device(d.scratch, Relaxed, 1) == grid_dim_x() - 1);
        }
        sync_threads();
        if last.at(0) == 1 {
            let mut sum = 0;
            for block in 0..4 {
                sum += d.scratch.at(64 + block * 64 + t); // <-
            }
            *d.output.add(t) = sum;
        }
    }

    /// A barrier of the whole grid, made by hand, without a fence.
    Race grid_barrier_without_fence { grid: 4, block: 32 } |d| {
        *d.scratch.add(64 + global_index()) = d.input.at(global_index()); // <-
        sync_threads();
        if thread_index() == 0 {
            if !BUG {
                device_thread_fence(AcqRel);
            }
            atomic_fetch_add_u32_device(d.scratch, Relaxed, 1);
            while d.scratch.peek(0) < grid_dim_x() {}
            device_thread_fence(AcqRel);
        }
        sync_threads();
        *d.output.add(global_index()) = d.scratch.at(64 + (global_index() + 32) % 128); // <-
    }

    /// Two steps that need a barrier of the grid, or two launches, and have neither.
    Race two_steps_in_one_launch { grid: 4, block: 32 } |d| {
        *d.scratch.add(64 + global_index()) = d.input.at(global_index()); // <-
        sync_threads();
        if thread_index() == 0 && !BUG {
            atomic_fetch_add_u32_device(d.scratch, AcqRel, 1);
            while atomic_load_32_device(d.scratch, Acquire) < grid_dim_x() {}
        }
        sync_threads();
        *d.output.add(global_index()) = d.scratch.at(64 + (global_index() + 32) % 128); // <-
    }

    /// A queue of one producer and one consumer whose index is published before its element.
    Race queue_publishes_early { grid: 2 } |d| {
        let (head, tail, ring) = (d.scratch, d.scratch.add(1), d.scratch.add(64));
        if thread_index() == 0 && block_index() == 0 {
            for i in 0..20 {
                while i - atomic_load_32_device(tail, Acquire) >= 4 {}
                if BUG {
                    atomic_store_32_device(head, Release, i + 1);
                }
                *ring.add(i as usize % 4) = i; // <-
                if !BUG {
                    atomic_store_32_device(head, Release, i + 1);
                }
            }
        } else if thread_index() == 0 {
            for i in 0..20 {
                while atomic_load_32_device(head, Acquire) <= i {}
                *d.output.add(i as usize) = ring.at(i as usize % 4); // <-
                atomic_store_32_device(tail, Release, i + 1);
            }
        }
    }

    /// A queue whose consumer gives a place back before it has read it.
    Race queue_frees_early { grid: 2 } |d| {
        let (head, tail, ring) = (d.scratch, d.scratch.add(1), d.scratch.add(64));
        if thread_index() == 0 && block_index() == 0 {
            for i in 0..20 {
                while i - atomic_load_32_device(tail, Acquire) >= 4 {}
                *ring.add(i as usize % 4) = i; // <-
                atomic_store_32_device(head, Release, i + 1);
            }
        } else if thread_index() == 0 {
            for i in 0..20 {
                while atomic_load_32_device(head, Acquire) <= i {}
                if BUG {
                    atomic_store_32_device(tail, Release, i + 1);
                }
                *d.output.add(i as usize) = ring.at(i as usize % 4); // <-
                if !BUG {
                    atomic_store_32_device(tail, Release, i + 1);
                }
            }
        }
    }

    /// A queue whose producer never asks whether there is room.
    Race queue_without_a_tail { grid: 2 } |d| {
        let (head, tail, ring) = (d.scratch, d.scratch.add(1), d.scratch.add(64));
        if thread_index() == 0 && block_index() == 0 {
            for i in 0..20 {
                while !BUG && i - atomic_load_32_device(tail, Acquire) >= 4 {}
                *ring.add(i as usize % 4) = i; // <-
                atomic_store_32_device(head, Release, i + 1);
            }
        } else if thread_index() == 0 {
            for i in 0..20 {
                while atomic_load_32_device(head, Acquire) <= i {}
                *d.output.add(i as usize) = ring.at(i as usize % 4); // <-
                atomic_store_32_device(tail, Release, i + 1);
            }
        }
    }

    /// A ticket lock whose next ticket is called without a release.
    Race ticket_lock { grid: 4 } |d| {
        if thread_index() == 0 {
            let ticket = atomic_fetch_add_u32_device(d.scratch, Relaxed, 1);
            while atomic_load_32_device(d.scratch.add(1), Acquire) != ticket {}
            *d.scratch.add(2) += 1; // <-
            atomic_fetch_add_u32_device(d.scratch.add(1), if BUG { Relaxed } else { Release }, 1);
        }
    }

    /// An accumulator that one block adds to atomically and another reads plainly.
    Race plain_read_of_atomic { grid: 4 } |d| {
        if block_index() != 3 {
            atomic_fetch_add_u32_device(d.scratch, Relaxed, 1); // <-
        } else if thread_index() == 0 {
            *d.output = if BUG { d.scratch.at(0) } else { atomic_load_32_device(d.scratch, Relaxed) }; // <-
        }
    }

    /// All threads of the grid count at one place, each with a fence around, and one looks at it plainly.
    Race contended_count_looked_at { grid: 8, block: 256 } |d| {
        for _ in 0..4 {
            device_thread_fence(AcqRel);
            atomic_fetch_add_u32_device(d.scratch, Relaxed, 1); // <-
            device_thread_fence(AcqRel);
        }
        if block_index() == 3 && thread_index() == 0 {
            *d.output = if BUG { d.scratch.at(0) } else { atomic_load_32_device(d.scratch, Relaxed) }; // <-
        }
    }

    /// A lock that only block 0 gives back without a fence: the race shows if block 0 comes first.
    Race first_lacks_the_fence { grid: 2, hidden: true } |d| {
        let lock = d.scratch.add(1);
        if thread_index() == 0 {
            while atomic_compare_and_swap_u32_device(lock, 0, 1, Acquire) != 0 {}
            *d.scratch += 1; // <-
            let careful = !BUG || block_index() != 0;
            atomic_fetch_exch_u32_device(lock, if careful { Release } else { Relaxed }, 0);
        }
    }

    /// Its mirror image.
    Race last_lacks_the_fence { grid: 2, hidden: true } |d| {
        let lock = d.scratch.add(1);
        if thread_index() == 0 {
            while atomic_compare_and_swap_u32_device(lock, 0, 1, Acquire) != 0 {}
            *d.scratch += 1; // <-
            let careful = !BUG || block_index() != 1;
            atomic_fetch_exch_u32_device(lock, if careful { Release } else { Relaxed }, 0);
        }
    }

    /// A flag that stands for a moment only, and is looked at once.
    Race seen_for_a_moment { grid: 2, hidden: true } |d| {
        let flag = d.scratch.add(32);
        if thread_index() == 0 && block_index() == 0 {
            *d.scratch = 42; // <-
            device_thread_fence(AcqRel);
            flag.write_volatile(1);
            flag.write_volatile(0);
        } else if thread_index() == 0 && flag.read_volatile() == 1 {
            if !BUG {
                device_thread_fence(AcqRel);
            }
            *d.output = d.scratch.at(0); // <-
        }
    }

    /// Its mirror image.
    Race seen_for_a_moment_by_the_first { grid: 2, hidden: true } |d| {
        let flag = d.scratch.add(32);
        if thread_index() == 0 && block_index() == 1 {
            *d.scratch = 42; // <-
            device_thread_fence(AcqRel);
            flag.write_volatile(1);
            flag.write_volatile(0);
        } else if thread_index() == 0 && flag.read_volatile() == 1 {
            if !BUG {
                device_thread_fence(AcqRel);
            }
            *d.output = d.scratch.at(0); // <-
        }
    }

    /// Threads of several blocks update one element between a volatile load and a volatile store, in a loop.
    Equal volatile_sum { grid: 4, block: 32 } |d| {
        let t = thread_index();
        for i in 0..4 {
            let value = d.input.at(t + i);
            if BUG {
                let sum = d.scratch.peek(i); // <-
                d.scratch.add(i).write_volatile(sum + value); // <-
            } else {
                atomic_fetch_add_u32_device(d.scratch.add(i), Relaxed, value);
            }
        }
    }

    /// A stop flag that is only looked at: right with or without a fence, since nothing is read behind it.
    Race data_behind_a_stop_flag { grid: 2 } |d| {
        let stop = d.scratch.add(32);
        if thread_index() == 0 && block_index() == 0 {
            *d.scratch = 7; // <-
            stop.write_volatile(1);
        } else if thread_index() == 0 {
            let mut turns = 0;
            while stop.read_volatile() == 0 {
                turns += 1;
            }
            *d.output = turns;
            if BUG {
                *d.output.add(1) = d.scratch.at(0); // <-
            }
        }
    }
}
