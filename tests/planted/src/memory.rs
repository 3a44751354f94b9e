//! Accesses outside their object: global memory, each shared array on its own, stacks, parameters; alignment; spaces.

use crate::case::{Unchecked, twins};
use crate::{global_index, thread_index};
use core::sync::atomic::Ordering::*;
use cuda_std::atomic::mid::*;
use cuda_std::shared_array;
use cuda_std::thread::sync_threads;

twins! {
    /// Thread 0 has no left neighbour.
    Memory left_of_the_first {} |d| {
        let t = thread_index();
        let left = if BUG || t > 0 { t.wrapping_sub(1) } else { 0 };
        *d.output.add(t) = d.input.at(left); // <-
    }

    /// The last thread has no right neighbour.
    Memory right_of_the_last {} |d| {
        let at = d.n as usize - 64 + thread_index();
        let right = if BUG || at + 1 < d.n as usize { at + 1 } else { at };
        *d.output.add(thread_index()) = d.input.at(right); // <-
    }

    /// More threads than elements, and no guard.
    Memory no_guard { grid: 9, block: 128 } |d| {
        if BUG || global_index() < d.n as usize {
            *d.output.add(global_index()) = 1; // <-
        }
    }

    /// A guard that lets one too many through.
    Memory guard_off_by_one { grid: 9, block: 128 } |d| {
        if if BUG { global_index() <= d.n as usize } else { global_index() < d.n as usize } {
            *d.output.add(global_index()) = 1; // <-
        }
    }

    /// A grid-stride loop that goes one step too far.
    Memory stride_too_far { grid: 2 } |d| {
        let mut i = global_index();
        while i < d.n as usize + usize::from(BUG) {
            *d.output.add(i) = i as u32; // <-
            i += 128;
        }
    }

    /// Rows and columns taken for each other: the last rows lie outside.
    Memory rows_for_columns {} |d| {
        // 64 rows of 16.
        let (row, column) = (thread_index(), 15);
        *d.output.add(if BUG { row * 64 + column } else { row * 16 + column }) = 1; // <-
    }

    /// An index in elements where bytes are counted.
    Memory bytes_for_elements {} |d| {
        let t = thread_index();
        *d.output.add(if BUG { 16 * t + 64 } else { t }) = 1; // <-
    }

    /// An index from data that is not checked.
    Memory index_from_data {} |d| {
        let at = d.input.at(thread_index()) as usize;
        *d.output.add(thread_index()) = d.input.at(if BUG { at * 200 } else { at }); // <-
    }

    /// An uninitialised pointer.
    Memory null_pointer {} |d| {
        let nowhere = d.input.at(1000) as usize as *mut u32;
        let place = if BUG { nowhere } else { d.output };
        if thread_index() == 0 {
            *place = 1; // <-
        }
    }

    /// An atomic past the end.
    Memory atomic_past_the_end {} |d| {
        let at = d.n as usize - 64 + thread_index() + usize::from(BUG);
        atomic_fetch_add_u32_device(d.scratch.add(at), Relaxed, 1); // <-
    }

    /// A shared array read one past its end, where another begins.
    Memory into_the_next_array {} |d| {
        let (a, b, t) = (shared_array![u32; 64], shared_array![u32; 64], thread_index());
        *a.add(t) = d.input.at(t);
        *b.add(t) = d.input.at(64 + t);
        sync_threads();
        let next = t + if BUG { 1 } else { 0 };
        *d.output.add(t) = a.at(next) + b.at(t); // <-
        sync_threads();
        *d.scratch.add(t) = b.at(t);
    }

    /// A shared array written before its beginning.
    Memory before_the_array {} |d| {
        let (a, b, t) = (shared_array![u32; 64], shared_array![u32; 64], thread_index());
        *b.add(t) = 0;
        *a.add(t) = 0;
        sync_threads();
        let shift = d.input.at(1000) as usize + usize::from(BUG);
        *b.add(t.wrapping_sub(shift)) = d.input.at(t); // <-
        *a.add(t.wrapping_sub(shift)) = d.input.at(t); // <-
        sync_threads();
        *d.output.add(t) = a.at(t) + b.at(t); // <-
    }

    /// The only shared array, one past its end.
    Memory past_shared {} |d| {
        let (a, t) = (shared_array![u32; 64], thread_index());
        *a.add(t + usize::from(BUG)) = d.input.at(t); // <-
        sync_threads();
        *d.output.add(t) = a.at(t.max(1));
    }

    /// A halo of two where the array has room for one.
    Memory halo_too_wide { block: 128 } |d| {
        let (row, pad, t) = (shared_array![u32; 130], shared_array![u32; 8], thread_index());
        if t < 8 {
            *pad.add(t) = 0;
        }
        *row.add(t + 1) = d.input.at(t);
        if t < 2 {
            *row.add(t * 129) = 0;
        }
        sync_threads();
        let reach = if BUG { 2 } else { 1 } + d.input.at(1000) as usize;
        *d.output.add(t) = row.at(t + 1 - 1) + row.at(t + 1 + reach) + pad.at(t % 8); // <-
    }

    /// More dynamic shared memory than the launch asked for.
    Memory past_dynamic_shared { dynamic: 256 } |d| {
        let (tile, t) = (cuda_std::shared::dynamic_shared_mem::<u32>(), thread_index());
        *tile.add(t + usize::from(BUG)) = d.input.at(t); // <-
        sync_threads();
        *d.output.add(t) = tile.at(t.max(1));
    }

    /// An array on the stack, one past its end.
    Memory past_the_stack { block: 32 } |d| {
        let mut digits = [0u32; 8];
        let t = thread_index();
        for i in 0..8 {
            *digits.as_mut_ptr().add((i + d.input.at(1000 + i) as usize) % 8) = d.input.at(i + t);
        }
        // The input begins with a 3.
        let at = d.input.at(0) as usize + if BUG { 5 } else { 4 };
        *digits.as_mut_ptr().add(at) = 5; // <-
        *d.output.add(t) = *digits.as_ptr().add(d.input.at(t) as usize % 8);
    }

    /// Bytes read as words: three of four threads are misaligned.
    Memory misaligned_word {} |d| {
        let t = thread_index();
        let place = d.input.cast::<u8>().add(if BUG { t } else { 4 * t });
        *d.output.add(t) = *place.cast::<u32>(); // <-
    }

    /// A vector of four words that starts at the second.
    Memory misaligned_vector { block: 32 } |d| {
        #[repr(C, align(16))]
        #[derive(Clone, Copy)]
        struct Four([u32; 4]);
        let t = thread_index();
        let four = *d.input.add(4 * t + usize::from(BUG)).cast::<Four>(); // <-
        *d.output.add(t) = four.0[0] + four.0[3];
    }

    /// A pair in shared memory at an odd word.
    Memory misaligned_shared { block: 32 } |d| {
        #[repr(C, align(8))]
        #[derive(Clone, Copy)]
        struct Two([u32; 2]);
        let (words, t) = (shared_array![u32; 68], thread_index());
        *words.add(t) = 1;
        *words.add(t + 32) = 2;
        if t < 4 {
            *words.add(t + 64) = 3;
        }
        sync_threads();
        let two = *words.add(2 * t + usize::from(BUG) + d.input.at(1000) as usize).cast::<Two>(); // <-
        *d.output.add(t) = two.0[0] + two.0[1];
    }

    /// A write through the address of another space: an offset in shared memory taken for a global address.
    Memory shared_offset_as_global { block: 32 } |d| {
        let (words, t) = (shared_array![u32; 32], thread_index());
        *words.add(t) = d.input.at(t);
        sync_threads();
        let offset = d.input.at(1000) as usize + 64;
        let place = if BUG { offset as *mut u32 } else { d.output };
        if t == 0 {
            *place = words.at(0); // <-
        }
    }

    /// The kernel's own check fails.
    Memory assertion {} |d| {
        let t = thread_index();
        let value = d.input.at(t);
        assert!(!BUG || value != 3, "three is not allowed"); // <-
        *d.output.add(t) = value;
    }

    /// A slice indexed past its end: Rust's own check ends the kernel.
    Memory slice_index {} |d| {
        let t = thread_index();
        let values = core::slice::from_raw_parts(d.input, if BUG { 60 } else { 64 });
        *d.output.add(t) = values[t]; // <-
    }

    /// Half of the threads read behind the end. That they race as well is told all the same.
    Race behind_the_end_and_racing {} |d| {
        let (tile, t) = (shared_array![u32; 64], thread_index());
        let far = d.input.at(if BUG { d.n as usize - 32 + t } else { t });
        *tile.add(t) = far; // <-
        if !BUG {
            sync_threads();
        }
        *d.output.add(t) = tile.at(63 - t); // <-
    }

    /// The same the other way round: the race comes first, and does not hide what lies behind the end.
    Memory racing_and_behind_the_end {} |d| {
        let (tile, t) = (shared_array![u32; 64], thread_index());
        *tile.add(t) = d.input.at(t);
        if !BUG {
            sync_threads();
        }
        let other = tile.at(63 - t) as usize;
        *d.output.add(if BUG { d.n as usize - 32 + t } else { t }) = other as u32; // <-
    }

    /// A row's end is read behind the last one: the loop over it must not lead anywhere else.
    Memory end_of_the_last_row {} |d| {
        let row = d.n as usize - 64 + thread_index();
        let end = if BUG || row + 1 < d.n as usize { d.input.at(row + 1) } else { 0 }; // <-
        let mut at = 0;
        while at < end {
            atomic_fetch_add_u32_device(d.scratch.add(at as usize), Relaxed, 1);
            at += 1;
        }
    }
}
