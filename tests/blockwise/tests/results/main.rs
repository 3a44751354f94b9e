//! What the kernels compute, on the virtual GPU, at sizes that divide nothing.
#![forbid(unsafe_code)]

mod levels;
mod linear;
mod lines;
mod matrices;
mod public;
mod refused;
mod suites;

use std::sync::OnceLock;

use cuda_builder::{CudaBuilder, NvvmArch};
use warpsmith_launch::{Device, Level, Levels, Wish};

const LENGTHS: [usize; 6] = [1, 31, 33, 255, 257, 1000];

/// The kernels, compiled once for each level: from 8.0 on copies are asynchronous.
fn levels() -> &'static Levels {
    static LEVELS: OnceLock<Levels> = OnceLock::new();
    LEVELS
        .get_or_init(|| Levels::new(Vec::leak(vec![level(NvvmArch::Compute75), level(NvvmArch::Compute80)])))
}

/// The kernels for the oldest level alone.
fn oldest() -> &'static Levels {
    static LEVELS: OnceLock<Levels> = OnceLock::new();
    LEVELS.get_or_init(|| Levels::new(&levels().all()[..1]))
}

fn level(arch: NvvmArch) -> Level {
    let built = CudaBuilder::new(env!("CARGO_MANIFEST_DIR")).arch(arch).build().unwrap();
    Level::new(std::fs::read_to_string(built).unwrap().leak())
}

fn device() -> Device {
    Device::open(Wish::Virtual).unwrap()
}

/// Small whole numbers, whose sums of products are exact.
fn numbers(len: usize, seed: usize) -> Vec<f32> {
    (0..len).map(|i| ((i * 7 + seed * 13 + i / 5) % 17) as f32 - 8.0).collect()
}
