//! What the virtual GPU counts while a kernel runs.

use report::profile::{Counters, GlobalCounters, SharedCounters};
use virtual_gpu::profiler;

use crate::device::Device;
use crate::error::Error;

/// Runs `launch` to its end; on the virtual GPU, with the counters of all that it launched.
pub fn counted(
    device: &Device,
    launch: impl FnOnce() -> Result<(), Error>,
) -> Result<Option<Counters>, Error> {
    if !device.is_virtual() {
        launch()?;
        device.synchronize()?;
        return Ok(None);
    }
    warpsmith_cuda::take_profiles();
    warpsmith_cuda::collect_profiles(true);
    let ended = launch().and_then(|()| device.synchronize());
    warpsmith_cuda::collect_profiles(false);
    ended?;
    let mut sum = Counters::default();
    for profile in warpsmith_cuda::take_profiles() {
        let one = counters(&profile.counters);
        sum.shared_load += one.shared_load;
        sum.shared_store += one.shared_store;
        sum.shared_atomic += one.shared_atomic;
        sum.global_load += one.global_load;
        sum.global_store += one.global_store;
        sum.global_atomic += one.global_atomic;
    }
    Ok(Some(sum))
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
