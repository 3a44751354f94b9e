//! `mbarrier`s: a phase is complete when all who are expected have arrived, and only who has seen that knows of what
//! came before the arrivals.

use crate::case::{Unchecked, twins};
use crate::thread_index;
use cuda_std::async_copy::*;
use cuda_std::thread::sync_threads;
use cuda_std::{ptx, shared_array};

/// Makes the barrier for `arrivals` arrivals a phase.
#[inline(always)]
pub(crate) unsafe fn make(barrier: *mut u64, arrivals: u32) {
    // SAFETY: the caller's.
    unsafe {
        ptx!("{{ .reg .u64 wide; .reg .u32 at; cvta.to.shared.u64 wide, {b}; cvt.u32.u64 at, wide; \
              mbarrier.init.shared.b64 [at], {n}; }}", b = in(ptr) barrier, n = in(u32) arrivals)
    }
}

#[inline(always)]
unsafe fn arrive(barrier: *mut u64) {
    // SAFETY: the caller's.
    unsafe {
        ptx!("{{ .reg .u64 wide, state; .reg .u32 at; cvta.to.shared.u64 wide, {b}; cvt.u32.u64 at, wide; \
              mbarrier.arrive.shared.b64 state, [at]; }}", b = in(ptr) barrier)
    }
}

/// Arrives when the copies that the thread has issued have landed.
#[inline(always)]
unsafe fn arrive_with_copies(barrier: *mut u64) {
    // SAFETY: the caller's.
    unsafe {
        ptx!("{{ .reg .u64 wide; .reg .u32 at; cvta.to.shared.u64 wide, {b}; cvt.u32.u64 at, wide; \
              cp.async.mbarrier.arrive.noinc.shared.b64 [at]; }}", b = in(ptr) barrier)
    }
}

/// Waits until the phase of this parity is complete.
#[inline(always)]
pub(crate) unsafe fn wait(barrier: *mut u64, parity: u32) {
    loop {
        let over: u32;
        // SAFETY: the caller's.
        unsafe {
            ptx!("{{ .reg .u64 wide; .reg .u32 at; .reg .pred over; cvta.to.shared.u64 wide, {b}; \
                  cvt.u32.u64 at, wide; mbarrier.test_wait.parity.shared.b64 over, [at], {parity}; \
                  selp.u32 {o}, 1, 0, over; }}",
                 b = in(ptr) barrier, parity = in(u32) parity, o = out(u32) over)
        }
        if over != 0 {
            return;
        }
    }
}

twins! {
    /// Copies that are tied to a barrier's phase are read behind a block barrier, before the phase is complete.
    Race copies_tied_to_a_phase {} |d| {
        let (full, tile, t) = (shared_array![u64; 1], shared_array![u32; 64], thread_index());
        if t == 0 {
            make(full, 64);
        }
        sync_threads();
        cp_async_ca(tile.add(t), d.input.add(t)); // <-
        arrive_with_copies(full);
        if BUG {
            sync_threads();
        } else {
            wait(full, 0);
        }
        *d.output.add(t) = tile.at(63 - t); // <-
        wait(full, 0);
    }

    /// The lane that arrives for its warp does so before the other lanes have stored.
    Race arrives_for_its_warp {} |d| {
        let (full, tile, t) = (shared_array![u64; 1], shared_array![u32; 64], thread_index());
        if t == 0 {
            make(full, 2);
        }
        sync_threads();
        *tile.add(t) = d.input.at(t); // <-
        if !BUG {
            cuda_std::warp::sync_warp(u32::MAX);
        }
        if t % 32 == 0 {
            arrive(full);
        }
        wait(full, 0);
        *d.output.add(t) = tile.at(63 - t); // <-
    }

    /// Of two stages the consumer gives one back before it has read it.
    Race stage_given_back_early {} |d| {
        let (full, free) = (shared_array![u64; 2], shared_array![u64; 2]);
        let (stages, t) = (shared_array![u32; 64], thread_index());
        if t < 2 {
            make(full.add(t), 32);
            make(free.add(t), 32);
        }
        sync_threads();
        let (stage, mut sum) = (stages, 0);
        for step in 0..6usize {
            let (slot, parity) = (step % 2, step as u32 / 2 % 2);
            if t < 32 {
                if step >= 2 {
                    wait(free.add(slot), parity ^ 1);
                }
                *stage.add(slot * 32 + t) = d.input.at(step * 32 + t); // <-
                arrive(full.add(slot));
            } else {
                wait(full.add(slot), parity);
                if BUG {
                    arrive(free.add(slot));
                }
                sum += stage.at(slot * 32 + 63 - t); // <-
                if !BUG {
                    arrive(free.add(slot));
                }
            }
        }
        *d.output.add(t) = sum;
    }

    /// The barrier is used while a thread still makes it.
    Race made_too_late {} |d| {
        let (full, tile, t) = (shared_array![u64; 1], shared_array![u32; 64], thread_index());
        *tile.add(t) = d.input.at(t);
        if t == 0 {
            make(full, 64); // <-
        }
        if !BUG {
            sync_threads();
        }
        arrive(full); // <-
        wait(full, 0); // <-
        *d.output.add(t) = tile.at(63 - t); // <-
    }

    /// More arrivals are expected than there are threads.
    Barrier phase_is_never_complete {} |d| {
        let (full, tile, t) = (shared_array![u64; 1], shared_array![u32; 64], thread_index());
        if t == 0 {
            make(full, if BUG { 65 } else { 64 });
        }
        sync_threads();
        *tile.add(t) = d.input.at(t);
        arrive(full);
        wait(full, 0); // <-
        *d.output.add(t) = tile.at(63 - t);
    }
}
