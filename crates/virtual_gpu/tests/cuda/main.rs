//! CUDA C++ programs against the same work done in Rust. nvcc made the PTX (`nvcc -arch=sm_90 -std=c++17 -ptx`, with the
//! `.version` lowered to 8.3, packed by `gzip -9n`).

mod control;
#[path = "../device/mod.rs"]
mod device;
mod dynamic;
#[path = "../fixture/mod.rs"]
mod fixture;
mod float;
mod half;
mod integer;
mod memory;
mod together;

/// A device with a module stored compressed.
fn device(packed: &[u8]) -> device::Device {
    device::Device::new(&fixture::unpacked(packed))
}

/// Pseudo-random numbers for inputs.
fn numbers(seed: u64) -> impl Iterator<Item = u64> {
    (0..).map(move |i| {
        let mut z: u64 = (seed << 32 | i).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    })
}
