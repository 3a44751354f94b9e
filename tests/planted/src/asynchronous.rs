//! Asynchronous copies: what `cp.async` brings is there only after the thread's own wait, and for others after a
//! barrier.

use core::sync::atomic::Ordering::Relaxed;

use crate::case::{Unchecked, twins};
use crate::thread_index;
use cuda_std::async_copy::*;
use cuda_std::atomic::mid::atomic_fetch_add_u32_device;
use cuda_std::shared_array;
use cuda_std::thread::sync_threads;

twins! {
    /// Copied words are read with a barrier, and without the wait.
    Race copy_without_wait {} |d| {
        let (tile, t) = (shared_array![u32; 64], thread_index());
        cp_async_ca(tile.add(t), d.input.add(t)); // <-
        cp_async_commit_group();
        if !BUG {
            cp_async_wait_group::<0>();
        }
        sync_threads();
        *d.output.add(t) = tile.at(63 - t); // <-
    }

    /// Each thread waits for its own copies, and reads another's without a barrier.
    Race copy_without_barrier {} |d| {
        let (tile, t) = (shared_array![u32; 64], thread_index());
        cp_async_ca(tile.add(t), d.input.add(t)); // <-
        cp_async_commit_group();
        cp_async_wait_group::<0>(); // <-
        if !BUG {
            sync_threads();
        }
        *d.output.add(t) = tile.at(63 - t); // <-
    }

    /// Half of the copies read behind the end. The missing wait for others' copies is told all the same.
    Race copy_behind_the_end_and_no_barrier {} |d| {
        let (tile, t) = (shared_array![u32; 64], thread_index());
        let from = if BUG { d.n as usize - 32 + t } else { t };
        cp_async_ca(tile.add(t), d.input.add(from)); // <-
        cp_async_commit_group();
        cp_async_wait_group::<0>(); // <-
        if !BUG {
            sync_threads();
        }
        *d.output.add(t) = tile.at(63 - t); // <-
    }

    /// A word that could not be copied is no index: where it leads is the copy's mistake alone.
    Memory copy_of_indices_behind_the_end {} |d| {
        let (tile, t) = (shared_array![u32; 64], thread_index());
        let from = if BUG { d.n as usize - 32 + t } else { t };
        cp_async_ca(tile.add(t), d.input.add(from)); // <-
        cp_async_wait_all();
        atomic_fetch_add_u32_device(d.scratch.add(tile.at(t) as usize), Relaxed, 1);
    }

    /// The barrier comes before the wait: others' copies may still be under way behind it.
    Race copy_waits_after_barrier {} |d| {
        let (tile, t) = (shared_array![u32; 64], thread_index());
        cp_async_ca(tile.add(t), d.input.add(t)); // <-
        cp_async_commit_group();
        if BUG {
            sync_threads();
            cp_async_wait_group::<0>(); // <-
        } else {
            cp_async_wait_group::<0>();
            sync_threads();
        }
        *d.output.add(t) = tile.at(63 - t); // <-
    }

    /// Two stages, and a wait that leaves one group too many under way.
    Race pipeline_waits_for_too_few {} |d| {
        let (stages, t) = (shared_array![u32; 128], thread_index());
        let mut sum = 0;
        cp_async_ca(stages.add(t), d.input.add(t)); // <-
        cp_async_commit_group();
        for step in 0..4 {
            cp_async_ca(stages.add((step + 1) % 2 * 64 + t), d.input.add((step + 1) * 64 + t)); // <-
            cp_async_commit_group();
            if BUG {
                cp_async_wait_group::<2>();
            } else {
                cp_async_wait_group::<1>();
            }
            sync_threads();
            sum += stages.at(step % 2 * 64 + 63 - t); // <-
            sync_threads();
        }
        cp_async_wait_all();
        *d.output.add(t) = sum;
    }

    /// A stage is filled again before all have read it.
    Race pipeline_refills_early {} |d| {
        let (stages, t) = (shared_array![u32; 128], thread_index());
        let mut sum = 0;
        cp_async_ca(stages.add(t), d.input.add(t)); // <-
        cp_async_commit_group();
        for step in 0..4 {
            cp_async_ca(stages.add((step + 1) % 2 * 64 + t), d.input.add((step + 1) * 64 + t)); // <-
            cp_async_commit_group();
            cp_async_wait_group::<1>();
            sync_threads();
            sum += stages.at(step % 2 * 64 + 63 - t); // <-
            if !BUG {
                sync_threads();
            }
        }
        cp_async_wait_all();
        *d.output.add(t) = sum;
    }

    /// A copy that was never committed is in no group that a wait could name.
    Race copy_without_commit {} |d| {
        let (tile, t) = (shared_array![u32; 64], thread_index());
        cp_async_ca(tile.add(t), d.input.add(t)); // <-
        if !BUG {
            cp_async_commit_group();
        }
        cp_async_wait_group::<0>();
        sync_threads();
        *d.output.add(t) = tile.at(t); // <-
    }

    /// A plain store to where a copy is on its way.
    Race store_meets_copy {} |d| {
        let (tile, t) = (shared_array![u32; 64], thread_index());
        cp_async_ca(tile.add(t), d.input.add(t)); // <-
        cp_async_commit_group();
        if BUG {
            *tile.add(t) = 7; // <-
        }
        cp_async_wait_group::<0>();
        if !BUG {
            *tile.add(t) = 7;
        }
        *d.output.add(t) = tile.at(t);
    }

    /// A copy of 16 bytes reads what another thread writes at the same time.
    Race copy_source_is_written {} |d| {
        let (tile, t) = (shared_array![[u32; 4]; 64], thread_index());
        *d.scratch.add(t) = d.input.at(t); // <-
        if !BUG {
            sync_threads();
        }
        if t < 16 {
            cp_async_cg(tile.add(t), d.scratch.cast_const().cast::<[u32; 4]>().add(t)); // <-
        }
        cp_async_commit_group();
        cp_async_wait_group::<0>();
        sync_threads();
        *d.output.add(t) = tile.cast::<u32>().at(t);
    }
}
