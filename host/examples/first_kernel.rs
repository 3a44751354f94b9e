//! The short way: load PTX, copy two arrays to the device, launch one kernel, copy the result back, check it.
//!
//! The kernel is `kernels-gpu/src/base/first.rs`. Run with `cargo run --release --example first_kernel`.

use approx::assert_relative_eq;
use cust::launch;
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use warpsmith_cuda as _;
use warpsmith_kernels::LEVELS; // the CUDA driver: this machine's, or the virtual GPU

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let _context = cust::quick_init()?;
    let module = Module::from_ptx(LEVELS.all()[0].ptx(), &[])?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;

    let n = 1000;
    let a: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let b: Vec<f32> = (0..n).map(|i| 1.0 / (i + 1) as f32).collect();
    let on_device = (DeviceBuffer::from_slice(&a)?, DeviceBuffer::from_slice(&b)?);
    let out = DeviceBuffer::from_slice(&vec![0.0f32; n])?;

    // One thread an element; the last block has some to spare.
    let (block, grid) = (256, n.div_ceil(256) as u32);
    let vecadd = module.get_function("vecadd")?;
    // SAFETY: the arguments are those of `vecadd`, a slice being a pointer and a length; `out` has n elements.
    unsafe {
        launch!(vecadd<<<grid, block, 0, stream>>>(
            on_device.0.as_device_ptr(),
            on_device.0.len(),
            on_device.1.as_device_ptr(),
            on_device.1.len(),
            out.as_device_ptr()
        ))?;
    }
    stream.synchronize()?;

    let mut sums = vec![0.0f32; n];
    out.copy_to(&mut sums)?;
    for i in 0..n {
        assert_relative_eq!(sums[i], a[i] + b[i], max_relative = 1e-6);
    }
    println!("{n} sums are right; the last is {}", sums[n - 1]);
    Ok(())
}
