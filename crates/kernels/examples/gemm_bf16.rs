//! C = A · Bᵀ of bfloat16 on tensor cores. Run with `cargo run --release -p warpsmith_kernels --example gemm_bf16`.

use half::bf16;
use warpsmith_kernels::gemm::{Gemm, Input, Layout, Output, Problem};
use warpsmith_launch::{Bf16, Device, DevicePreference};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    run(&Device::open(DevicePreference::Auto)?)
}

/// A is 128 × 64 and B 64 × 256, both with K contiguous; C is f32.
pub fn run(device: &Device) -> Result<()> {
    let (m, n, k) = (128, 256, 64);
    let a: Vec<bf16> = (0..m * k).map(|i| bf16::from_f32((i % 7) as f32 - 3.0)).collect();
    let b: Vec<bf16> = (0..n * k).map(|i| bf16::from_f32((i % 5) as f32 - 2.0)).collect();
    let on_device_a = device.upload(Bf16::wrap(&a))?;
    let on_device_b = device.upload(Bf16::wrap(&b))?;
    let mut c = device.upload(&vec![0.0f32; m * n])?;
    let problem = Problem::new((m, n, k), Input::Bf16, Output::F32, Layout::Nt);
    let plan = Gemm::new(device).multiply(&problem, &on_device_a, &on_device_b, &mut c)?;
    println!("{}", plan.why());

    for (i, c) in device.download(&c)?.into_iter().enumerate() {
        let products = (0..k).map(|k_| a[i / n * k + k_].to_f32() * b[i % n * k + k_].to_f32());
        assert_eq!(c, products.sum::<f32>(), "element {i}");
    }
    Ok(())
}
