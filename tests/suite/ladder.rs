//! The steps of the product's ladder, at multiples of their tiles, with alpha and beta.

use cust::memory::DeviceBuffer;
use host::data::Random;
use host::ladder::{STEPS, Step};
use host::verify::Product;
use kernels_gpu::gemm::Gemm;
use warpsmith_launch::Device;

use crate::Case;

/// The cases.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for step in STEPS {
        for times in [(1, 1, 1), (1, 1, 2), (2, 1, 5), (1, 3, 9), (1, 1, 0)] {
            let name = format!("ladder::{}::{}x{}x{}_tiles", step.kernel, times.0, times.1, times.2);
            cases.push(Case::new(name, move |device| {
                check(device, step, times, 1.0, 0.0)?;
                check(device, step, times, -0.5, 2.0)
            }));
        }
        cases.push(Case::new(format!("ladder::{}::refuses_other_sizes", step.kernel), move |_| {
            let (m, n, k) = step.tile;
            let refused = step.shape(Gemm::product(m as u32 + 1, n as u32, k as u32));
            anyhow::ensure!(refused.is_err_and(|error| error.to_string().contains("multiples of")));
            Ok(())
        }));
    }
    cases
}

/// Multiplies random matrices of so many tiles and compares with float64.
fn check(
    device: &Device,
    step: &Step,
    times: (usize, usize, usize),
    alpha: f32,
    beta: f32,
) -> anyhow::Result<()> {
    let shape = (times.0 * step.tile.0, times.1 * step.tile.1, times.2 * step.tile.2);
    let (m, n, k) = shape;
    let mut random = Random::new((m + n + k) as u64);
    let (a, b) = (random.units(m * k), random.units(k * n));
    // Without beta, C is not read: what is not a number there must not reach the result.
    let before = if beta == 0.0 { vec![f32::NAN; m * n] } else { random.units(m * n) };
    let on_device = (DeviceBuffer::from_slice(&a)?, DeviceBuffer::from_slice(&b)?);
    let mut c = DeviceBuffer::from_slice(&before)?;
    let p = Gemm { m: m as u32, n: n as u32, k: k as u32, alpha, beta };
    step.multiply(device, p, &on_device.0, &on_device.1, &mut c)?;
    device.synchronize()?;
    let product = Product { shape, a: &a, b: &b, before: &before, alpha, beta };
    let verdict = product.whole(&c.as_host_vec()?);
    anyhow::ensure!(verdict.ok, "{} {shape:?}: {:?}", step.kernel, verdict.wrong);
    Ok(())
}
