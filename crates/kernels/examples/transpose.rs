//! The transpose of a matrix. Run with `cargo run --release -p warpsmith_kernels --example transpose`.

use warpsmith_kernels::transpose::transpose;
use warpsmith_launch::{Device, DevicePreference};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    run(&Device::open(DevicePreference::Auto)?)
}

/// 100 rows of 257 f64.
pub fn run(device: &Device) -> Result<()> {
    let (rows, cols) = (100, 257);
    let matrix: Vec<f64> = (0..rows * cols).map(|i| i as f64).collect();
    let from = device.upload(&matrix)?;
    let mut to = device.upload(&vec![0.0f64; rows * cols])?;
    let plan = transpose(device, (rows, cols), &from, &mut to)?;
    println!("{}: {}", plan.kernel(), plan.why());

    for (i, element) in device.download(&to)?.into_iter().enumerate() {
        assert_eq!(element, matrix[i % rows * cols + i / rows], "element {i}");
    }
    Ok(())
}
