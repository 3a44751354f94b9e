//! Tests the `f32` functions of one argument on a GPU, which covers all inputs in seconds.

use super::{Double, Error, Single, single_worst};
use crate::measure::Worst;
use cuda_builder::CudaBuilder;
use cust::context::Context;
use cust::device::Device;
use cust::launch;
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use std::path::Path;
use warpsmith_cuda as _; // the CUDA driver: this machine's, or the virtual GPU

pub struct Gpu {
    pub name: String,
    stream: Stream,
    module: Module,
    _context: Context,
}

impl Gpu {
    /// Uses the kernels' PTX from the file `path`, and writes the file if it does not exist: a machine with a GPU may
    /// have no cargo.
    pub fn new(path: &Path) -> Result<Gpu, Error> {
        if !path.exists() {
            let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/math_accuracy/kernels");
            CudaBuilder::new(kernels).copy_to(path).build()?;
        }
        let context = cust::quick_init()?;
        let name = Device::get_device(0)?.name()?;
        let module = Module::from_ptx(std::fs::read_to_string(path)?, &[])?;
        let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
        Ok(Gpu { name, stream, module, _context: context })
    }

    /// The largest error of a function over `count` inputs. Given the worst input, the host must find the same error.
    pub fn worst(
        &self,
        name: &str,
        forms: (Single, Double),
        count: u64,
        stride: u64,
    ) -> Result<Worst, Error> {
        let worst = DeviceBuffer::from_slice(&[0_u64])?;
        let (kernel, stream) = (self.module.get_function(format!("worst_{name}"))?, &self.stream);
        // SAFETY: the arguments are those of the kernels.
        unsafe { launch!(kernel<<<4096, 256, 0, stream>>>(count, stride, worst.as_device_ptr()))? };
        stream.synchronize()?;
        let mut found = [0];
        worst.copy_to(&mut found)?;
        let [found] = found;
        let mut worst = Worst::new();
        single_worst(&mut worst, forms, found as u32);
        worst.inputs = count as usize;
        let error = f32::from_bits((found >> 32) as u32);
        if worst.ulps as f32 != error {
            let x = f32::from_bits(found as u32);
            return Err(
                format!("{name}({x:e}): the device found {error} ulp, the host {}", worst.ulps).into()
            );
        }
        Ok(worst)
    }
}
