//! Values that were never written, where they decide an address, a branch or an atomic, or reach the host.

use crate::case::{Unchecked, twins};
use crate::{global_index, thread_index};
use core::sync::atomic::{AtomicU32, Ordering::*};
use cuda_std::atomic::mid::*;
use cuda_std::shared_array;
use cuda_std::thread::sync_threads;
use cuda_std::warp;

twins! {
    /// One element of the output is left out.
    Init hole_in_the_output { reads: 64 } |d| {
        let t = thread_index();
        if !BUG || t != 40 {
            *d.output.add(t) = d.input.at(t); // <-
        }
    }

    /// The output is filled by exchanges, whose old values are dropped; one element is left out.
    Init hole_among_exchanges { reads: 64 } |d| {
        let t = thread_index();
        if !BUG || t != 40 {
            AtomicU32::from_ptr(d.output.add(t)).swap(d.input.at(t), Relaxed); // <-
        }
    }

    /// The tail is dropped: the grid covers whole blocks only.
    Init dropped_tail { grid: 3, reads: 200 } |d| {
        let i = global_index();
        *d.output.add(i) = d.input.at(i); // <-
        if !BUG && i < 8 {
            *d.output.add(192 + i) = d.input.at(192 + i);
        }
    }

    /// A shared word that was never written steers a branch.
    Init branch_on_shared { block: 32, reads: 32 } |d| {
        let (flags, t) = (shared_array![u32; 32], thread_index());
        if !BUG || t < 16 {
            *flags.add(t) = d.input.at(t);
        }
        sync_threads();
        if flags.at(t) > 3 { // <-
            *d.output.add(t) = 1;
        } else {
            *d.scratch.add(t) = 2;
            *d.output.add(t) = 2;
        }
    }

    /// A shared word that was never written is an index.
    Init index_from_shared { block: 32 } |d| {
        let (indices, t) = (shared_array![u32; 32], thread_index());
        if !BUG || t < 31 {
            *indices.add(t) = d.input.at(t);
        }
        sync_threads();
        *d.output.add(t) = d.input.at(indices.at(t) as usize); // <-
    }

    /// A counter in shared memory starts at whatever was there.
    Init counter_never_cleared { block: 32 } |d| {
        let (count, t) = (shared_array![u32; 1], thread_index());
        if !BUG && t == 0 {
            *count = 0;
        }
        sync_threads();
        atomic_fetch_add_u32_block(count, Relaxed, 1); // <-
        sync_threads();
        *d.output.add(t) = count.at(0);
    }

    /// A histogram in global memory that was not cleared.
    Init histogram_never_cleared { reads: 16 } |d| {
        let t = thread_index();
        if t < 16 && !BUG {
            *d.output.add(t) = 0;
        }
        sync_threads();
        atomic_fetch_add_u32_device(d.output.add(d.input.at(t) as usize), Relaxed, 1); // <-
    }

    /// A sum over a tile whose last threads had nothing to store.
    Init reduction_over_tail { reads: 1 } |d| {
        let (sums, t) = (shared_array![u32; 64], thread_index());
        if t < 50 {
            *sums.add(t) = d.input.at(t);
        } else if !BUG {
            *sums.add(t) = 0;
        }
        sync_threads();
        let mut half = 32;
        while half > 0 {
            if t < half {
                *sums.add(t) += sums.at(t + half);
            }
            sync_threads();
            half /= 2;
        }
        if t == 0 {
            *d.output = sums.at(0); // <-
        }
    }

    /// A local array with one element left out, chosen later.
    Init local_array { block: 32, reads: 32 } |d| {
        let mut table = core::mem::MaybeUninit::<[u32; 8]>::uninit();
        let (table, t) = (table.as_mut_ptr().cast::<u32>(), thread_index());
        for i in 0..if BUG { 7 } else { 8 } {
            *table.add((i + d.input.at(1000 + i) as usize) % 8) = d.input.at(i);
        }
        *d.output.add(t) = table.at((d.input.at(t) as usize + t) % 8); // <-
    }

    /// The kernel reads its own output before anyone has written it.
    Init output_read_first { block: 32, reads: 32 } |d| {
        let t = thread_index();
        if !BUG {
            *d.output.add(t) = 0;
        }
        *d.output.add(t) += d.input.at(t); // <-
    }

    /// A branch on what the output holds at first.
    Init branch_on_output { block: 32 } |d| {
        let t = thread_index();
        if !BUG {
            *d.output.add(t) = 0;
        }
        if d.output.at(t) == 0 { // <-
            *d.scratch.add(t) = 1;
        } else {
            *d.output.add(t) = 9;
        }
    }

    /// A shuffle from a lane that has left: what comes is undefined.
    Init shuffle_from_absent_lane { block: 48, reads: 2 } |d| {
        let t = thread_index();
        let lanes = if t < 32 { 32 } else { 16 };
        let mut sum = d.input.at(t);
        for delta in [16, 8, 4, 2, 1] {
            let (other, _) = warp::warp_shuffle_down(warp::activemask(), sum, delta, 32);
            if BUG || t % 32 + (delta as usize) < lanes {
                sum += other;
            }
        }
        if t.is_multiple_of(32) {
            *d.output.add(t / 32) = sum; // <-
        }
    }

    /// One byte of each word is left as it was.
    Init one_byte_of_four { block: 32, reads: 32 } |d| {
        let (t, bytes) = (thread_index(), d.output.cast::<u8>());
        for i in 0..if BUG { 3 } else { 4 } {
            *bytes.add(4 * t + i) = d.input.at(t + i) as u8; // <-
        }
    }

    /// A field that was left out decides, though its struct was copied whole.
    Init field_left_out { block: 32 } |d| {
        #[repr(C)]
        #[derive(Clone, Copy)]
        struct Entry {
            kind: u8,
            count: u32,
        }
        let (entries, t) = (shared_array![Entry; 32], thread_index());
        (*entries.add(t)).kind = d.input.at(t) as u8;
        if !BUG {
            (*entries.add(t)).count = 1;
        }
        sync_threads();
        let entry = entries.at(31 - t);
        if entry.count > 2 { // <-
            *d.output.add(t) = u32::from(entry.kind);
        }
    }

    /// A loop's bound that was never set.
    Init loop_bound { block: 32 } |d| {
        let (bound, t) = (shared_array![u32; 1], thread_index());
        // No word of the input is above 10. Without any store, LLVM would take the loop out.
        if t == 0 && (!BUG || d.input.at(0) > 10) {
            *bound = d.input.at(0);
        }
        sync_threads();
        let mut i = 0;
        while i < bound.at(0) % 8 { // <-
            *d.output.add(t + i as usize) = i;
            i += 1;
            sync_threads();
        }
    }

    /// A guarded load leaves the threads beyond the edge with unwritten shared words, which are stored.
    Init edge_of_a_tile { block: 256, reads: 240 } |d| {
        let (tile, t) = (shared_array![u32; 256], thread_index());
        let (x, y) = (t % 16, t / 16);
        // 15 rows of 16 in, 16 rows of 15 out.
        if y < 15 {
            *tile.add(y * 16 + x) = d.input.at(y * 16 + x);
        }
        sync_threads();
        let inside = if BUG { y < 15 } else { x < 15 };
        if inside {
            *d.output.add(if BUG { y * 16 + x } else { y * 15 + x }) = tile.at(x * 16 + y); // <-
        }
    }

    /// An exchange hands on a word that was never written.
    Init old_value_of_an_exchange {} |d| {
        let t = thread_index();
        if !BUG {
            *d.output.add(t) = d.input.at(t);
        }
        if atomic_fetch_exch_u32_device(d.output.add(t), Relaxed, 1) > 3 { // <-
            *d.scratch.add(t) = 1;
        }
    }
}
