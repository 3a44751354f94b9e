//! Counters of the virtual GPU.

use gpu_model::profile::{BySpace, Counters};
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

/// Counters of a row's launches.
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
        Self {
            counters: profiles.iter().map(|profile| profile.counters).sum(),
            memory_instructions: profiles.iter().map(|profile| profile.memory_instructions).sum(),
        }
    }
}
