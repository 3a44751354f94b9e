//! What the virtual GPU counts while a kernel runs.

use report::profile::{Counters, GlobalCounters, SharedCounters};
use virtual_gpu::profiler;
use warpsmith_cuda::profile::{LaunchProfile, record};

use crate::device::Device;
use crate::error::Error;

/// Runs `launch` to its end, and gives the profiles of what it launched; none on a real GPU.
pub fn profiled(
    device: &Device,
    launch: impl FnOnce() -> Result<(), Error>,
) -> Result<Vec<LaunchProfile>, Error> {
    let run = || launch().and_then(|()| device.synchronize());
    if !device.is_virtual() {
        return run().map(|()| Vec::new());
    }
    let (ended, profiles) = record(run);
    ended.map(|()| profiles)
}

/// The counters of several launches together.
pub fn sum(profiles: &[LaunchProfile]) -> Counters {
    let mut sum = Counters::default();
    for profile in profiles {
        let one = counters(&profile.counters);
        sum.shared_load += one.shared_load;
        sum.shared_store += one.shared_store;
        sum.shared_atomic += one.shared_atomic;
        sum.global_load += one.global_load;
        sum.global_store += one.global_store;
        sum.global_atomic += one.global_atomic;
    }
    sum
}

/// The virtual GPU's counters in the form that reports take.
pub fn counters(from: &profiler::Counters) -> Counters {
    let shared = |s: &profiler::SharedCounters| SharedCounters {
        instructions: s.instructions,
        wavefronts: s.wavefronts,
        ideal_wavefronts: s.ideal_wavefronts,
        bank_conflicts: s.bank_conflicts,
    };
    let global = |g: &profiler::GlobalCounters| GlobalCounters {
        requests: g.requests,
        sectors: g.sectors,
        bytes: g.bytes,
    };
    Counters {
        shared_load: shared(&from.shared_load),
        shared_store: shared(&from.shared_store),
        shared_atomic: shared(&from.shared_atomic),
        global_load: global(&from.global_load),
        global_store: global(&from.global_store),
        global_atomic: global(&from.global_atomic),
    }
}
