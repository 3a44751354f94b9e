//! The one place where kernels start, which decides who watches them.

use sanitizer::Profiled;
use virtual_gpu::profiler::Profiler;
use virtual_gpu::{Error, Gpu, Kernel, Launch, Quota};

use crate::check;
use crate::profile::Wanted;

/// Runs a kernel under whatever the environment asks to watch it.
pub fn launch(
    gpu: &Gpu,
    quota: &Quota,
    kernel: &Kernel,
    launch: &Launch,
    params: &[u8],
    wanted: &Wanted,
) -> Result<(), Error> {
    if let Some(sanitizer) = check::sanitizer() {
        let mut profiler = wanted.any().then(Profiler::new);
        let mut both = Profiled { check: &mut sanitizer.launch(), profiler: profiler.as_mut() };
        let result = gpu.launch_within(quota, kernel, launch, params, &mut both);
        if let Some(profiler) = profiler {
            wanted.keep(profiler.finish());
        }
        check::launch_has_ended(kernel.name());
        return result;
    }
    if !wanted.any() {
        return gpu.launch_within(quota, kernel, launch, params, &mut ());
    }
    let mut profiler = Profiler::new();
    let result = gpu.launch_within(quota, kernel, launch, params, &mut profiler);
    wanted.keep(profiler.finish());
    result
}
