//! The virtual GPUs of the process, and their numbers.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use gpu_model::Chip;
use virtual_gpu::memory::Memory;
use virtual_gpu::{Gpu, Options};

use crate::abi::{Answer, CUdevice, CUmemLocation, CUmemLocationType, CUresult};
use crate::choice::{self, Taken};
use crate::execution::Execution;
use crate::fork;
use crate::objects::explain;

/// The driver version that the virtual device reports: the newest interface whose PTX it reads.
pub const DRIVER_VERSION: i32 = 13_050;

/// Warp instructions in which nothing is written, after which a checked launch counts as waiting for ever: a second or
/// two of spinning.
const CHECKED_SPIN_LIMIT: u64 = 5_000_000;
/// A checked launch ends after this many warp instructions in any case, unless `WARPSMITH_WATCHDOG` says otherwise.
const CHECKED_WATCHDOG: u64 = 2_000_000_000;

static INITIALISED: AtomicBool = AtomicBool::new(false);

/// A virtual GPU. Its contexts share its memory, and all devices share the addresses, so that an address means one thing only.
pub struct Device {
    pub number: CUdevice,
    pub gpu: Gpu,
    /// Its bus number, which is unique.
    pub bus: u32,
}

impl Device {
    pub fn chip(&self) -> &'static Chip {
        self.gpu.chip()
    }

    /// The device's capability as images number it.
    pub fn architecture(&self) -> u32 {
        let capability = self.chip().capability();
        u32::from(capability.major) * 10 + u32::from(capability.minor)
    }

    /// Whether its kernels can be let to reach another device's memory: as with real boards, one of the same model.
    pub fn can_access(&self, peer: &Device) -> bool {
        self.number != peer.number && self.chip().key == peer.chip().key
    }
}

/// All devices; there is at least one.
pub fn devices() -> &'static [Device] {
    static DEVICES: OnceLock<Vec<Device>> = OnceLock::new();
    DEVICES.get_or_init(|| {
        let mut options = Options::from_env();
        if crate::check::sanitizer().is_some() {
            // A program is checked because it may be wrong: one that waits for ever ends with a report.
            options.spin_limit = options.spin_limit.or(Some(CHECKED_SPIN_LIMIT));
            options.watchdog = options.watchdog.or(Some(CHECKED_WATCHDOG));
        }
        options.compiler = Execution::compiler();
        let chips = match choice::taken() {
            Ok(Taken::Virtual(chips)) => chips,
            _ => &[&gpu_model::chips::H200],
        };
        let mut all: Vec<Device> = Vec::with_capacity(chips.len());
        for (number, chip) in (0..).zip(chips) {
            let gpu = match all.first() {
                None => Gpu::with_options(chip, options.clone()),
                Some(first) => first.gpu.beside(chip, options.clone()),
            };
            let mut bus = chip.pci.bus;
            while all.iter().any(|other| other.bus == bus) {
                bus = (bus + 1) % 256;
            }
            all.push(Device { number, gpu, bus });
        }
        all
    })
}

pub fn first() -> &'static Device {
    &devices()[0]
}

/// All addresses of all devices: what is found, read, written and freed through it may be any device's. To allocate is a
/// context's to do.
pub fn memory() -> &'static Memory {
    first().gpu.memory()
}

pub fn initialise() {
    fork::watch();
    INITIALISED.store(true, Ordering::Release);
}

/// Fails like the driver before `cuInit`.
pub fn initialised() -> Answer {
    if INITIALISED.load(Ordering::Acquire) { Ok(()) } else { Err(CUresult::NOT_INITIALIZED) }
}

pub fn device(number: CUdevice) -> Answer<&'static Device> {
    initialised()?;
    let index = usize::try_from(number).map_err(|_| CUresult::INVALID_DEVICE)?;
    devices().get(index).ok_or(CUresult::INVALID_DEVICE)
}

/// The device at a location, which is to get access to another device's memory.
pub fn accessor(location: CUmemLocation, owner: &Device) -> Answer<&'static Device> {
    if location.r#type != CUmemLocationType::DEVICE as u32 {
        return Err(CUresult::INVALID_VALUE);
    }
    let device = device(location.id)?;
    let own = device.number == owner.number;
    if own || device.can_access(owner) { Ok(device) } else { Err(CUresult::INVALID_DEVICE) }
}

pub fn code_of(error: &virtual_gpu::Error) -> CUresult {
    explain::because(|| error.to_string());
    CUresult(error.cuda_code())
}
