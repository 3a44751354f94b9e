//! C = A · B of f32. Run with `cargo run --release -p warpsmith_kernels --example gemm_f32`.

use warpsmith_kernels::gemm::{Gemm, Problem};
use warpsmith_launch::{Device, DevicePreference};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    run(&Device::open(DevicePreference::Auto)?)
}

/// A is 100 × 50, B 50 × 70.
pub fn run(device: &Device) -> Result<()> {
    let (m, n, k) = (100, 70, 50);
    let a: Vec<f32> = (0..m * k).map(|i| (i % 7) as f32 - 3.0).collect();
    let b: Vec<f32> = (0..k * n).map(|i| (i % 5) as f32 - 2.0).collect();
    let (on_device_a, on_device_b) = (device.upload(&a)?, device.upload(&b)?);
    let mut c = device.upload(&vec![0.0f32; m * n])?;
    let plan = Gemm::new(device).multiply(&Problem::f32((m, n, k)), &on_device_a, &on_device_b, &mut c)?;
    println!("{}", plan.why());

    for (i, c) in device.download(&c)?.into_iter().enumerate() {
        assert_eq!(c, (0..k).map(|k_| a[i / n * k + k_] * b[k_ * n + i % n]).sum::<f32>(), "element {i}");
    }
    Ok(())
}
