//! The profile of one kernel: its demo, run on the virtual GPU for that kernel alone.

use warpsmith_cuda::profile::LaunchProfile;
use warpsmith_launch::{Device, DevicePreference};

use crate::demos::{self, Stage};
use crate::error::Error;
use crate::modules::LEVELS;
use crate::registry;
use crate::size::Size;
use crate::terminal::Progress;

/// Every launch of `kernel` in its demo at `size`, always on the virtual GPU.
pub fn profile(kernel: &str, size: Option<Size>) -> anyhow::Result<Vec<LaunchProfile>> {
    registry::find(kernel)?;
    profile_on(&Device::open(DevicePreference::Virtual)?, kernel, size)
}

/// The same on a virtual device that is open already.
pub fn profile_on(device: &Device, kernel: &str, size: Option<Size>) -> anyhow::Result<Vec<LaunchProfile>> {
    let (family, description) = registry::find(kernel)?;
    // Says why if the model does not admit it.
    device.module(&LEVELS, description.name)?;
    let progress = Progress::new(kernel, true);
    let stage = Stage { size, only: Some(description.name), ..Stage::new(device, &progress) };
    run_family(family, &stage)?;
    let mut profiles = stage.profiles.into_inner();
    profiles.retain(|profile| profile.kernel == description.name);
    anyhow::ensure!(
        !profiles.is_empty(),
        "`{kernel}` does not take {}: try another size, such as --size 256",
        size.map_or("the demo's size".to_owned(), |size| format!("size {size}"))
    );
    Ok(profiles)
}

pub fn run_family(family: &str, stage: &Stage) -> Result<Vec<demos::Row>, Error> {
    let demo =
        demos::find(family).ok_or_else(|| Error::Size(format!("no demo runs the kernels of {family}")))?;
    stage.forecast.set(Some(demo));
    demo.run(stage)
}
