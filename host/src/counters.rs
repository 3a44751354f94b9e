//! What the virtual GPU counts while a kernel runs.

use report::profile::{BySpace, Counters, GlobalCounters, Operations, SharedCounters, TensorOperations};
use virtual_gpu::profiler;
use warpsmith_cuda::profile::{LaunchProfile, record};
use warpsmith_launch::Device;

use crate::error::Error;

/// Runs `launch` to its end, and gives the profiles of what it launched; none on a real GPU.
pub fn profiled(
    device: &Device,
    launch: impl FnOnce() -> Result<(), Error>,
) -> Result<Vec<LaunchProfile>, Error> {
    let run = || launch().and_then(|()| Ok(device.synchronize()?));
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
        sum += counters(&profile.counters);
    }
    sum
}

/// What was counted in the launches of a row.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counted {
    /// Wavefronts, conflicts, sectors.
    pub counters: Counters,
    /// Warp instructions that went to memory, by space.
    pub memory_instructions: BySpace,
}

impl Counted {
    /// Of several launches together.
    pub fn of(profiles: &[LaunchProfile]) -> Self {
        Self { counters: sum(profiles), memory_instructions: memory_instructions(profiles) }
    }
}

/// The instructions of several launches that went to memory, together.
pub fn memory_instructions(profiles: &[LaunchProfile]) -> BySpace {
    let mut sum = BySpace::default();
    for profile in profiles {
        let profiler::BySpace { parameter, local, shared, global, constant } = profile.memory_instructions;
        sum += BySpace { parameter, local, shared, global, constant };
    }
    sum
}

/// The arithmetic of several launches together.
pub fn operations(profiles: &[LaunchProfile]) -> Operations {
    let mut sum = Operations::default();
    for profiler::Operations { f16, f32, f64, tensor } in profiles.iter().map(|profile| profile.operations) {
        let profiler::TensorOperations { f16: tensor_f16, tf32, f64: tensor_f64, f8, s8 } = tensor;
        let tensor = TensorOperations { f16: tensor_f16, tf32, f64: tensor_f64, f8, s8 };
        sum += Operations { f16, f32, f64, tensor };
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
        bulk_load: global(&from.bulk_load),
        bulk_store: global(&from.bulk_store),
    }
}
