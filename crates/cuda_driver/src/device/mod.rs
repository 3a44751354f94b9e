//! The virtual device: what the driver's entry points do when there is no GPU, over `virtual_gpu`.
//!
//! Functions named as entry points serve them; see [`crate::entry`] for how a call gets here. One file a subject.
#![allow(non_snake_case)]

pub mod array;
pub mod attributes;
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
pub mod occupancy;
pub mod pointer;
pub mod pool;
pub mod ptx_link;
pub mod queue;
pub mod registry;
pub mod stream;
pub mod tensor;
pub mod tools;
pub mod transfer;
pub mod value;
pub mod work;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use gpu_model::Chip;
use virtual_gpu::Gpu;

use crate::abi::{Answer, CUresult};
use crate::choice::{self, Taken};

/// The driver version that the virtual device reports: the newest interface whose PTX it reads.
pub const DRIVER_VERSION: i32 = 12_090;

static INITIALISED: AtomicBool = AtomicBool::new(false);

/// The one virtual GPU of the process. Contexts share it, so that a device address means one thing only.
pub fn gpu() -> &'static Gpu {
    static GPU: OnceLock<Gpu> = OnceLock::new();
    GPU.get_or_init(|| Gpu::new(chip()))
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
