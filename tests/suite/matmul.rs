//! Every matmul kernel, at every awkward shape, with alpha and beta.

use cust::memory::DeviceBuffer;
use host::data::Random;
use host::demos::matmul::{Variant, multiply};
use host::verify::Product;
use kernels_gpu::gemm::Gemm;
use warpsmith_launch::Device;

use crate::Case;

const SHAPES: [(usize, usize, usize); 12] = [
    (1, 1, 1),
    (31, 31, 31),
    (32, 32, 32),
    (33, 33, 33),
    (255, 17, 64),
    (1, 255, 3),
    (255, 1, 40),
    (16, 16, 1000),
    (5, 0, 7),
    (0, 5, 7),
    (5, 7, 0),
    (63, 65, 31),
];

/// The cases.
pub fn cases() -> Vec<Case> {
    let mut variants = Variant::all(32);
    variants.extend([Variant::Dynamic(1), Variant::Dynamic(7), Variant::DynamicColumn(24, 3)]);
    let mut cases = Vec::new();
    for variant in variants {
        for shape in SHAPES {
            let (m, n, k) = shape;
            let (kernel, case) = variant.name();
            let name = format!("matmul::{kernel}{}::{m}x{n}x{k}", case.replace([' ', ','], "_"));
            cases.push(Case::new(name, move |device| {
                check(device, variant, shape, 1.0, 0.0)?;
                check(device, variant, shape, -0.5, 2.0)
            }));
        }
    }
    cases
}

/// Multiplies random matrices and compares with float64.
pub fn check(
    device: &Device,
    variant: Variant,
    shape: (usize, usize, usize),
    alpha: f32,
    beta: f32,
) -> anyhow::Result<()> {
    let (m, n, k) = shape;
    let mut random = Random::new((m * 31 + n * 7 + k) as u64);
    let (a, b) = (random.units(m * k), random.units(k * n));
    // Without beta, C is not read: what is not a number there must not reach the result.
    let before = if beta == 0.0 { vec![f32::NAN; m * n] } else { random.units(m * n) };
    let on_device = (DeviceBuffer::from_slice(&a)?, DeviceBuffer::from_slice(&b)?);
    let mut c = DeviceBuffer::from_slice(&before)?;
    let p = Gemm { m: m as u32, n: n as u32, k: k as u32, alpha, beta };
    multiply(device, variant, p, &on_device.0, &on_device.1, &mut c)?;
    device.synchronize()?;
    let product = Product { shape, a: &a, b: &b, before: &before, alpha, beta };
    let verdict = product.whole(&c.as_host_vec()?);
    anyhow::ensure!(verdict.ok, "{variant:?} {shape:?}: {:?}", verdict.wrong);
    Ok(())
}
