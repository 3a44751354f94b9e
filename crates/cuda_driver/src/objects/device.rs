//! The one virtual GPU of the process, and its number.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use gpu_model::Chip;
use virtual_gpu::{Gpu, Options};

use crate::abi::{Answer, CUdevice, CUresult};
use crate::choice::{self, Taken};
use crate::fork;

/// The driver version that the virtual device reports: the newest interface whose PTX it reads.
pub const DRIVER_VERSION: i32 = 13_050;

pub const DEVICES: i32 = 1;

/// Warp instructions in which nothing is written, after which a checked launch counts as waiting for ever: a second or
/// two of spinning.
const CHECKED_SPIN_LIMIT: u64 = 5_000_000;
/// Warp instructions after which a checked launch ends in any case, if `WARPSMITH_WATCHDOG` says nothing else.
const CHECKED_WATCHDOG: u64 = 2_000_000_000;

static INITIALISED: AtomicBool = AtomicBool::new(false);

/// The one virtual GPU of the process. Contexts share it, so that a device address means one thing only.
pub fn gpu() -> &'static Gpu {
    static GPU: OnceLock<Gpu> = OnceLock::new();
    GPU.get_or_init(|| {
        let mut options = Options::from_env();
        if crate::check::sanitizer().is_some() {
            // A checked program is looked at because it may be wrong: one that waits for ever ends with a report.
            options.spin_limit = options.spin_limit.or(Some(CHECKED_SPIN_LIMIT));
            options.watchdog = options.watchdog.or(Some(CHECKED_WATCHDOG));
        }
        Gpu::with_options(chip(), options)
    })
}

pub fn chip() -> &'static Chip {
    match choice::taken() {
        Ok(Taken::Virtual(chip)) => chip,
        _ => &gpu_model::chips::H200,
    }
}

/// The device's capability as images number it.
pub fn architecture() -> u32 {
    let capability = chip().capability();
    u32::from(capability.major) * 10 + u32::from(capability.minor)
}

pub fn initialise() {
    fork::watch();
    INITIALISED.store(true, Ordering::Release);
}

/// Fails as the driver does before `cuInit`.
pub fn initialised() -> Answer {
    if INITIALISED.load(Ordering::Acquire) { Ok(()) } else { Err(CUresult::NOT_INITIALIZED) }
}

pub fn device(device: CUdevice) -> Answer {
    initialised()?;
    if (0..DEVICES).contains(&device) { Ok(()) } else { Err(CUresult::INVALID_DEVICE) }
}

pub fn code_of(error: &virtual_gpu::Error) -> CUresult {
    CUresult(error.cuda_code())
}
