//! A typed launch from the kernel's source to the checked result.
//!
//! The kernel is `kernels/src/lib.rs`. Run with `cargo run -p warpsmith_launch --example saxpy`; `WARPSMITH_DEVICE=virtual`
//! and `gpu` say where.

use std::error::Error;

use cuda_builder::{CudaBuilder, NvvmArch};
use cust::launch;
use cust::memory::{CopyDestination, DeviceBuffer};
use saxpy_kernels::saxpy;
use warpsmith_launch::{Device, Level, Levels, Shape};

fn main() -> Result<(), Box<dyn Error>> {
    // A project builds its kernels in `build.rs` and has the PTX with `include_str!`, in a static. An example has no build
    // script of its own.
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/kernels");
    let built = CudaBuilder::new(folder).arch(NvvmArch::Compute75).build()?;
    let ptx = std::fs::read_to_string(built)?;
    let levels = Levels::new(Vec::leak(vec![Level::new(ptx.leak())]));

    let device = Device::from_environment()?;
    let n = 1000;
    let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let on_device = DeviceBuffer::from_slice(&x)?;
    let mut y = DeviceBuffer::from_slice(&vec![1.0f32; n])?;

    let kernel = device.kernel::<saxpy>(&levels)?;
    let shape = Shape::line(n, 256);
    // SAFETY: `y` is as long as `x`.
    unsafe { kernel.launch(shape, (2.0f32, &on_device, &mut y))? };

    // `cust` stays in reach: the same launch once more, with nothing compared.
    let (function, stream) = (kernel.function(), device.stream());
    // SAFETY: the arguments are those of `saxpy`, a slice being a pointer and a length; `y` is as long as `x`.
    unsafe {
        launch!(function<<<shape.grid[0], shape.block[0], 0, stream>>>(
            2.0f32,
            on_device.as_device_ptr(),
            on_device.len(),
            y.as_device_ptr()
        ))?;
    }
    device.synchronize()?;

    let mut sums = vec![0.0f32; n];
    y.copy_to(&mut sums)?;
    assert!(sums.iter().zip(&x).all(|(sum, x)| *sum == 1.0 + 4.0 * x));
    println!("{n} sums are right on {}; the last is {}", device.limits().name, sums[n - 1]);
    Ok(())
}
