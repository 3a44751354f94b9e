//! Races within a block: shared memory, and barriers that are missing, misplaced or of too few threads.

use crate::case::{Unchecked, twins};
use crate::{block_index, global_index, thread_index};
use core::sync::atomic::Ordering::*;
use cuda_std::atomic::mid::*;
use cuda_std::shared_array;
use cuda_std::thread::sync_threads;

twins! {
    /// A tile is read before all of it is there.
    Race tile_before_load {} |d| {
        let (tile, t) = (shared_array![u32; 64], thread_index());
        *tile.add(t) = d.input.at(t); // <-
        if !BUG {
            sync_threads();
        }
        *d.output.add(t) = tile.at(63 - t); // <-
    }

    /// The next tile overwrites the one that others still read.
    Race tile_after_use {} |d| {
        let (tile, t) = (shared_array![u32; 64], thread_index());
        let mut sum = 0;
        for phase in 0..4 {
            *tile.add(t) = d.input.at(phase * 64 + t); // <-
            sync_threads();
            sum += tile.at((t + 33) % 64); // <-
            if !BUG {
                sync_threads();
            }
        }
        *d.output.add(t) = sum;
    }

    /// A tree reduction without the barrier between its levels.
    Race reduction_levels { block: 256 } |d| {
        let (sums, t) = (shared_array![u32; 256], thread_index());
        *sums.add(t) = d.input.at(t);
        sync_threads();
        let mut half = 128;
        while half > 0 {
            if t < half {
                *sums.add(t) += sums.at(t + half); // <-
            }
            if !BUG {
                sync_threads();
            }
            half /= 2;
        }
        if t == 0 {
            *d.output = sums.at(0); // <-
        }
    }

    /// A reduction whose first level starts before every thread has stored its value.
    Race reduction_start { block: 128 } |d| {
        let (sums, t) = (shared_array![u32; 128], thread_index());
        *sums.add(t) = d.input.at(t); // <-
        if !BUG {
            sync_threads();
        }
        let mut half = 64;
        while half > 0 {
            if t < half {
                *sums.add(t) += sums.at(t + half); // <-
            }
            sync_threads();
            half /= 2;
        }
        if t == 0 {
            *d.output = sums.at(0);
        }
    }

    /// An inclusive scan in place: the value is added where a neighbour has yet to read.
    Race scan_in_place { block: 128 } |d| {
        let (sums, t) = (shared_array![u32; 128], thread_index());
        *sums.add(t) = d.input.at(t);
        sync_threads();
        let mut step = 1;
        while step < 128 {
            let before = if t >= step { sums.at(t - step) } else { 0 }; // <-
            if !BUG {
                sync_threads();
            }
            *sums.add(t) += before; // <-
            sync_threads();
            step *= 2;
        }
        *d.output.add(t) = sums.at(t);
    }

    /// A scan with two buffers that reads the one it writes.
    Race scan_one_buffer { block: 128 } |d| {
        let (sums, t) = (shared_array![u32; 256], thread_index());
        *sums.add(t) = d.input.at(t);
        *sums.add(128 + t) = 0;
        sync_threads();
        let (mut from, mut step) = (0, 1);
        while step < 128 {
            let to = if BUG { from } else { 1 - from };
            let before = if t >= step { sums.at(from * 128 + t - step) } else { 0 }; // <-
            *sums.add(to * 128 + t) = sums.at(from * 128 + t) + before; // <-
            sync_threads();
            from = to;
            step *= 2;
        }
        *d.output.add(t) = sums.at(from * 128 + t);
    }

    /// Two buffers in turn, and no barrier between filling one and reading it.
    Race two_buffers {} |d| {
        let (buffers, t) = (shared_array![u32; 128], thread_index());
        *buffers.add(t) = d.input.at(t); // <-
        let mut sum = 0;
        for phase in 0..6 {
            if !BUG {
                sync_threads();
            }
            sum += buffers.at((phase % 2) * 64 + 63 - t); // <-
            *buffers.add((phase + 1) % 2 * 64 + t) = d.input.at((phase + 1) * 64 + t); // <-
        }
        *d.output.add(t) = sum;
    }

    /// A histogram in shared memory counts with plain additions.
    Race histogram_plain { block: 128 } |d| {
        let (bins, t) = (shared_array![u32; 16], thread_index());
        if t < 16 {
            *bins.add(t) = 0;
        }
        sync_threads();
        let bin = bins.add(d.input.at(t) as usize % 16);
        if BUG {
            *bin += 1; // <-
        } else {
            atomic_fetch_add_u32_block(bin, Relaxed, 1);
        }
        sync_threads();
        if t < 16 {
            *d.output.add(t) = bins.at(t);
        }
    }

    /// Bins are counted in before all of them are cleared.
    Race histogram_clear { block: 128 } |d| {
        let (bins, t) = (shared_array![u32; 16], thread_index());
        if t < 16 {
            *bins.add(t) = 0; // <-
        }
        if !BUG {
            sync_threads();
        }
        atomic_fetch_add_u32_block(bins.add(d.input.at(t) as usize % 16), Relaxed, 1); // <-
        sync_threads();
        if t < 16 {
            *d.output.add(t) = bins.at(t);
        }
    }

    /// Bins are written out before all counts are in.
    Race histogram_drain { block: 128 } |d| {
        let (bins, t) = (shared_array![u32; 16], thread_index());
        if t < 16 {
            *bins.add(t) = 0;
        }
        sync_threads();
        atomic_fetch_add_u32_block(bins.add(d.input.at(t) as usize % 16), Relaxed, 1); // <-
        if !BUG {
            sync_threads();
        }
        if t < 16 {
            *d.output.add(t) = bins.at(t); // <-
        }
    }

    /// A stencil without a wait for its halo cells.
    Race stencil_halo { grid: 2, block: 128 } |d| {
        let (row, t, g) = (shared_array![u32; 130], thread_index(), global_index());
        *row.add(t + 1) = d.input.at(g); // <-
        if t == 0 {
            *row = if g == 0 { 0 } else { d.input.at(g - 1) }; // <-
            *row.add(129) = d.input.at(g + 128); // <-
        }
        if !BUG {
            sync_threads();
        }
        *d.output.add(g) = row.at(t) + row.at(t + 1) + row.at(t + 2); // <-
    }

    /// A stencil that writes where its neighbours read.
    Race stencil_in_place { block: 256 } |d| {
        let (row, t) = (shared_array![u32; 258], thread_index());
        *row.add(t + 1) = d.input.at(t);
        if t < 2 {
            *row.add(t * 257) = 0;
        }
        sync_threads();
        let mean = (row.at(t) + row.at(t + 2)) / 2; // <-
        if !BUG {
            sync_threads();
        }
        *row.add(t + 1) = mean; // <-
        *d.output.add(t) = row.at(t + 1);
    }

    /// A transpose through a tile, without its barrier.
    Race transpose_tile { block: 256 } |d| {
        let (tile, t) = (shared_array![u32; 272], thread_index());
        let (x, y) = (t % 16, t / 16);
        *tile.add(y * 17 + x) = d.input.at(t); // <-
        if !BUG {
            sync_threads();
        }
        *d.output.add(t) = tile.at(x * 17 + y); // <-
    }

    /// A barrier in a loop that one turn leaves out.
    Race barrier_left_out_once {} |d| {
        let (ring, t) = (shared_array![u32; 64], thread_index());
        *ring.add(t) = d.input.at(t);
        for turn in 0..5 {
            sync_threads();
            let next = ring.at((t + 1) % 64); // <-
            if !BUG || turn != 3 {
                sync_threads();
            }
            *ring.add(t) = next; // <-
        }
        *d.output.add(t) = ring.at(t);
    }

    /// One thread computes for all, and no other waits for it.
    Race broadcast_without_barrier {} |d| {
        let (value, t) = (shared_array![u32; 1], thread_index());
        if t == 0 {
            *value = d.input.at(5); // <-
        }
        if !BUG {
            sync_threads();
        }
        *d.output.add(t) = value.at(0) + t as u32; // <-
    }

    /// The value for all is replaced while some have yet to read the last one.
    Race broadcast_reused {} |d| {
        let (value, t) = (shared_array![u32; 1], thread_index());
        let mut sum = 0;
        for turn in 0..4 {
            if t == 0 {
                *value = d.input.at(turn); // <-
            }
            sync_threads();
            sum += value.at(0); // <-
            if !BUG {
                sync_threads();
            }
        }
        *d.output.add(t) = sum;
    }

    /// Neighbouring bytes of one word: apart until an index is one off.
    Race neighbouring_bytes {} |d| {
        let (bytes, t) = (shared_array![u8; 68], thread_index());
        *bytes.add(t) = d.input.at(t) as u8; // <-
        if t == 5 {
            *bytes.add(if BUG { 6 } else { 64 }) = 77; // <-
        }
        sync_threads();
        *d.output.add(t) = u32::from(bytes.at(t));
    }

    /// Halves of one word, written by two threads, one of which writes the whole.
    Race halves_and_whole {} |d| {
        let (halves, t) = (shared_array![u16; 128], thread_index());
        if BUG && t == 40 {
            *halves.cast::<u32>().add(20) = 9; // <-
        }
        *halves.add(t) = d.input.at(t) as u16; // <-
        sync_threads();
        *d.output.add(t) = u32::from(halves.at(t));
    }

    /// Threads that store to one place, each its own number.
    Race last_one_wins {} |d| {
        let (winner, t) = (shared_array![u32; 64], thread_index());
        *winner.add(if BUG { t / 2 } else { t }) = t as u32; // <-
        sync_threads();
        *d.output.add(t) = winner.at(t / 2);
    }

    /// Threads that store one value to one place: a race whose outcome is the same.
    Equal found_flag {} |d| {
        let (found, t) = (shared_array![u32; 1], thread_index());
        if t == 0 {
            *found = 0;
        }
        sync_threads();
        if d.input.at(t) > 3 {
            if BUG {
                *found = 1; // <-
            } else {
                atomic_fetch_or_u32_block(found, Relaxed, 1);
            }
        }
        sync_threads();
        *d.output.add(t) = found.at(0);
    }

    /// A plain read of a counter that others are still adding to.
    Race counter_read_early {} |d| {
        let (count, t) = (shared_array![u32; 1], thread_index());
        if t == 0 {
            *count = 0;
        }
        sync_threads();
        atomic_fetch_add_u32_block(count, Relaxed, d.input.at(t)); // <-
        if !BUG {
            sync_threads();
        }
        *d.output.add(t) = count.at(0); // <-
    }

    /// A stack in shared memory whose top is moved by a plain read and write.
    Race stack_top {} |d| {
        let (stack, t) = (shared_array![u32; 65], thread_index());
        if t == 0 {
            *stack = 0;
        }
        sync_threads();
        let at = if BUG {
            let top = stack.at(0); // <-
            *stack = top + 1; // <-
            top
        } else {
            atomic_fetch_add_u32_block(stack, Relaxed, 1)
        };
        *stack.add(1 + at as usize) = t as u32;
        sync_threads();
        *d.output.add(t) = stack.at(1 + t);
    }

    /// Odd-even sort: the pairs of one turn are swapped before the last turn is over.
    Race odd_even_sort {} |d| {
        let (keys, t) = (shared_array![u32; 128], thread_index());
        *keys.add(2 * t) = d.input.at(2 * t);
        *keys.add(2 * t + 1) = d.input.at(2 * t + 1);
        sync_threads();
        for turn in 0..8 {
            let low = 2 * t + turn % 2;
            if low + 1 < 128 {
                let (a, b) = (keys.at(low), keys.at(low + 1)); // <-
                if a > b {
                    *keys.add(low) = b; // <-
                    *keys.add(low + 1) = a; // <-
                }
            }
            if !BUG {
                sync_threads();
            }
        }
        sync_threads();
        *d.output.add(t) = keys.at(t);
    }

    /// Global memory is no different: a block hands values on through it without a barrier.
    Race through_global {} |d| {
        let t = thread_index();
        *d.scratch.add(t) = d.input.at(t); // <-
        if !BUG {
            sync_threads();
        }
        *d.output.add(t) = d.scratch.at(63 - t); // <-
    }

    /// A matrix product that loads its next tiles while others still multiply.
    Race product_second_barrier { block: 256 } |d| {
        let (a, b, t) = (shared_array![u32; 256], shared_array![u32; 256], thread_index());
        let (x, y) = (t % 16, t / 16);
        let mut sum = 0;
        for phase in 0..2 {
            *a.add(t) = d.input.at(phase * 256 + t); // <-
            *b.add(t) = d.input.at(512 + phase * 128 + t); // <-
            sync_threads();
            for k in 0..16 {
                sum += a.at(y * 16 + k) * b.at(k * 16 + x); // <-
            }
            if !BUG {
                sync_threads();
            }
        }
        *d.output.add(t) = sum;
    }

    /// Blocks of two warps: each fills half of the tile that both read.
    Race each_warp_a_half { grid: 2 } |d| {
        let (tile, t) = (shared_array![u32; 64], thread_index());
        *tile.add(t) = d.input.at(global_index()); // <-
        if BUG {
            cuda_std::warp::sync_warp(u32::MAX);
        } else {
            sync_threads();
        }
        *d.output.add(global_index()) = tile.at((t + 32) % 64) + block_index() as u32; // <-
    }
}
