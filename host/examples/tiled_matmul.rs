//! A tiled matrix product with `cust` alone: load PTX, copy two matrices, launch, copy the result back, check it.
//!
//! The kernel is `kernels-gpu/src/base/matmul/tiled.rs`. Run with `cargo run --release --example tiled_matmul`.

use approx::assert_relative_eq;
use cust::launch;
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use kernels_gpu::gemm::Gemm;
use warpsmith_cuda as _;
use warpsmith_kernels::LEVELS; // the CUDA driver: this machine's, or the virtual GPU

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let _context = cust::quick_init()?;
    let module = Module::from_ptx(LEVELS.all()[0].ptx(), &[])?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;

    // C is m × n, and the product runs over k; none is a multiple of the tile's edge.
    let (m, n, k) = (100, 70, 50);
    let a: Vec<f32> = (0..m * k).map(|i| (i % 7) as f32 - 3.0).collect();
    let b: Vec<f32> = (0..k * n).map(|i| (i % 5) as f32 - 2.0).collect();
    let on_device = (DeviceBuffer::from_slice(&a)?, DeviceBuffer::from_slice(&b)?);
    let c = DeviceBuffer::from_slice(&vec![0.0f32; m * n])?;

    // A thread for each element of C, in blocks of 16 × 16; the last ones of a row and of a column reach beyond it.
    let grid = (n.div_ceil(16) as u32, m.div_ceil(16) as u32);
    let kernel = module.get_function("matmul_tiled_16")?;
    // SAFETY: the arguments are those of the kernel, a slice being a pointer and a length; the buffers hold the matrices.
    unsafe {
        launch!(kernel<<<grid, (16, 16), 0, stream>>>(
            Gemm::product(m as u32, n as u32, k as u32),
            on_device.0.as_device_ptr(),
            on_device.0.len(),
            on_device.1.as_device_ptr(),
            on_device.1.len(),
            c.as_device_ptr()
        ))?;
    }
    stream.synchronize()?;

    let mut result = vec![0.0f32; m * n];
    c.copy_to(&mut result)?;
    for (i, &is) in result.iter().enumerate() {
        let (row, col) = (i / n, i % n);
        let should: f32 = (0..k).map(|j| a[row * k + j] * b[j * n + col]).sum();
        assert_relative_eq!(is, should, max_relative = 1e-5);
    }
    println!("all {} elements of a {m} × {n} product are right", result.len());
    Ok(())
}
