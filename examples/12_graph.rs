//! Graphs: small kernels captured once and launched as one, with the same arguments or others of their shape.

use warpsmith::prelude::*;

#[warpsmith::device]
mod kernels {
    use warpsmith::kernel::*;

    /// One step of heat along a rod whose ends are cold.
    #[kernel]
    #[requires(x.len() == y.len())]
    pub fn step(block: Block<256>, rate: f32, x: &[f32], mut y: SliceMut<f32>) {
        y.write(&block, |_, i| {
            let left = if i > 0 { x[i - 1] } else { 0.0 };
            let right = if i + 1 < x.len() { x[i + 1] } else { 0.0 };
            x[i] + rate * (left - 2.0 * x[i] + right)
        });
    }
}

fn main() -> warpsmith::Result<()> {
    let device = Device::from_environment()?;
    let rod: Vec<f32> = (0..1000).map(|i| if i == 500 { 1.0 } else { 0.0 }).collect();
    let (mut x, mut y) = (device.upload(&rod)?, device.zeroed::<f32>(1000)?);

    // Nothing runs yet: 20 launches, each on what the one before it wrote.
    let mut graph = device.capture((0.25f32, &mut x, &mut y), |scope, (rate, mut x, mut y)| {
        for _ in 0..10 {
            scope.launch(kernels::step, (rate, &x, &mut y))?;
            scope.launch(kernels::step, (rate, &y, &mut x))?;
        }
        Ok(())
    })?;
    graph.launch((0.25, &mut x, &mut y))?; // the same arguments: only launched
    graph.launch((0.125, &mut x, &mut y))?; // another value: recorded again
    let mut cold = device.zeroed::<f32>(1000)?;
    graph.launch((0.125, &mut cold, &mut y))?; // another buffer

    let mut expected = rod;
    for rate in [0.25, 0.125] {
        for _ in 0..20 {
            let at = |i: usize| expected.get(i).copied().unwrap_or(0.0);
            expected =
                (0..1000).map(|i| at(i) + rate * (at(i.wrapping_sub(1)) - 2.0 * at(i) + at(i + 1))).collect();
        }
    }
    let got = device.download(&x)?;
    assert!(got.iter().zip(&expected).all(|(got, expected)| (got - expected).abs() < 1e-6));
    assert_eq!(device.download(&cold)?, [0.0; 1000]);
    println!("{:?}", &got[498..503]);
    Ok(())
}
