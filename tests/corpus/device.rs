//! Runs a kernel through the CUDA driver, for a tool that watches the process from outside.

use std::process::ExitCode;

use cust::error::CudaResult;
use cust::prelude::*;

use crate::{cases, trial};

/// Runs `kernel` on the device that `WARPSMITH_DEVICE` names.
pub fn run(kernel: &str) -> ExitCode {
    let stem = kernel.strip_suffix("_bug").or_else(|| kernel.strip_suffix("_right")).unwrap_or(kernel);
    let Some((.., case)) = cases().find(|(.., case)| case.name == stem) else {
        eprintln!("`{kernel}` is not a kernel of the corpus; `--list` lists them");
        return ExitCode::FAILURE;
    };
    // Names the device, and links the driver's entry points.
    if let Err(refused) = warpsmith_cuda::choose(None, None) {
        eprintln!("{refused}");
        return ExitCode::FAILURE;
    }
    let launched = || -> CudaResult<()> {
        let _context = cust::quick_init()?;
        let module = Module::from_ptx(trial::PTX, &[])?;
        let function = module.get_function(kernel)?;
        let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
        let input = DeviceBuffer::from_slice(&trial::input())?;
        // SAFETY: words have no invalid values; that they are not written is what is looked for.
        let output = unsafe { DeviceBuffer::<u32>::uninitialized(trial::WORDS)? };
        let scratch = DeviceBuffer::from_slice(&[0u32; trial::WORDS])?;
        let (grid, block, dynamic) = (case.grid, case.block, case.dynamic);
        // SAFETY: the parameters are the kernel's; what a bad twin does with them is what is looked for.
        unsafe {
            launch!(function<<<grid, block, dynamic, stream>>>(
                input.as_device_ptr(),
                output.as_device_ptr(),
                scratch.as_device_ptr(),
                trial::WORDS as u32
            ))?;
        }
        stream.synchronize()?;
        let mut words = vec![0; case.reads];
        output.index(0..case.reads).copy_to(&mut words)
    };
    match launched() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{kernel}: {error}");
            ExitCode::FAILURE
        }
    }
}
