//! The virtual device: what the driver's entry points do when there is no GPU, over `virtual_gpu`.
//!
//! Functions named as entry points serve them; see [`crate::entry`] for how a call gets here. One file a subject.
#![allow(non_snake_case)]

pub mod array;
pub mod attributes;
pub mod batch;
pub mod context;
pub mod devices;
pub mod errors;
pub mod event;
pub mod fatbin;
pub mod function;
pub mod graph;
pub mod host_memory;
pub mod image;
pub mod jit;
pub mod launch;
pub mod library;
pub mod limits;
pub mod link;
pub mod memory;
pub mod module;
pub mod multicast;
pub mod occupancy;
pub mod order;
pub mod pointer;
pub mod pool;
pub mod ptx_link;
pub mod queue;
pub mod registry;
pub mod stream;
pub mod stream_attributes;
pub mod tensor;
pub mod texture;
pub mod tools;
pub mod transfer;
pub mod value;
pub mod virtual_memory;
pub mod work;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use gpu_model::Chip;
use virtual_gpu::{Gpu, Options};

use crate::abi::{Answer, CUresult};
use crate::choice::{self, Taken};

/// The driver version that the virtual device reports: the newest interface whose PTX it reads.
pub const DRIVER_VERSION: i32 = 13_050;

static INITIALISED: AtomicBool = AtomicBool::new(false);

/// Warp instructions in which nothing is written, after which a checked launch counts as waiting for ever: a second or
/// two of spinning.
const CHECKED_SPIN_LIMIT: u64 = 5_000_000;
/// Warp instructions after which a checked launch ends in any case, if `WARPSMITH_WATCHDOG` says nothing else.
const CHECKED_WATCHDOG: u64 = 2_000_000_000;

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

/// The chip that the virtual GPU is a model of.
pub fn chip() -> &'static Chip {
    match choice::taken() {
        Ok(Taken::Virtual(chip)) => chip,
        _ => &gpu_model::chips::H200,
    }
}

/// Notes that the program has initialised the driver.
pub fn initialise() {
    INITIALISED.store(true, Ordering::Release);
}

/// Fails as the driver does before `cuInit`.
pub fn initialised() -> Answer {
    if INITIALISED.load(Ordering::Acquire) { Ok(()) } else { Err(CUresult::NOT_INITIALIZED) }
}

/// Translates what the virtual GPU refuses into the driver's code.
pub fn code_of(error: &virtual_gpu::Error) -> CUresult {
    CUresult(error.cuda_code())
}
