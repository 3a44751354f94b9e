//! Structs of the program's own become arrays, and back. Run with
//! `cargo run --release -p warpsmith_kernels --example structs`.

use bytemuck::{Pod, Zeroable};
use cust::DeviceCopy;
use warpsmith_kernels::structs::{to_arrays, to_structs};
use warpsmith_launch::{Device, DevicePreference};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// 12 bytes: no load is so wide.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy, Pod, Zeroable)]
pub struct Particle {
    x: f32,
    y: f32,
    z: f32,
}

fn main() -> Result<()> {
    run(&Device::open(DevicePreference::Auto)?)
}

/// 3000 particles.
pub fn run(device: &Device) -> Result<()> {
    let n = 3000;
    let particle = |i| Particle { x: i as f32, y: -(i as f32), z: 0.5 * i as f32 };
    let particles: Vec<Particle> = (0..n).map(particle).collect();
    let from = device.upload(&particles)?;
    let mut arrays = device.upload(&vec![0.0f32; 3 * n])?;
    to_arrays(device, n, &from, &mut arrays)?; // all x, all y, all z
    let mut back = device.upload(&vec![Particle::default(); n])?;
    to_structs(device, n, &arrays, &mut back)?;

    let ys = &device.download(&arrays)?[n..2 * n];
    assert!(ys.iter().zip(&particles).all(|(y, particle)| *y == particle.y));
    assert_eq!(device.download(&back)?, particles);
    println!("{n} particles became arrays of x, y and z, and particles again");
    Ok(())
}
