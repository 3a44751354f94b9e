use half::f16;
use virtual_gpu::Launch;

use crate::device::Device;

fn device() -> Device {
    Device::new(include_str!("matrix.ptx"))
}

/// Small numbers that are all different.
fn entry(i: usize) -> i32 {
    (i * 37 % 23) as i32 - 11
}

#[test]
fn half_fragments() {
    let device = device();
    let halves = |n: usize, from: usize| -> Vec<u16> {
        (0..n).map(|i| f16::from_f32(entry(i + from) as f32).to_bits()).collect()
    };
    let c = device.zeros::<f32>(128);
    let args = [device.upload(&halves(256, 0)), device.upload(&halves(128, 1000)), c];
    device.launch("mma_f16", Launch::new(1, 32), &args.map(|x| x.arg()));
    let got = device.download::<f32>(c);
    for row in 0..16 {
        for col in 0..8 {
            let sum: i32 = (0..16).map(|k| entry(row * 16 + k) * entry(1000 + k * 8 + col)).sum();
            assert_eq!(got[row * 8 + col], 1.0 + sum as f32, "{row} {col}");
        }
    }
}

#[test]
fn byte_fragments() {
    let device = device();
    let bytes = |n: usize, from: usize| -> Vec<u8> { (0..n).map(|i| entry(i + from) as u8).collect() };
    let c = device.zeros::<i32>(128);
    let args = [device.upload(&bytes(512, 0)), device.upload(&bytes(256, 700)), c];
    device.launch("mma_s8", Launch::new(1, 32), &args.map(|x| x.arg()));
    let got = device.download::<i32>(c);
    for row in 0..16 {
        for col in 0..8 {
            let sum: i32 = (0..32).map(|k| entry(row * 32 + k) * entry(700 + col * 32 + k)).sum();
            let lane = (row % 8) * 4 + col / 2;
            let start = [[lane as i32, 0], [-5, 7]][row / 8][col % 2];
            assert_eq!(got[row * 8 + col], start + sum, "{row} {col}");
        }
    }
}

#[test]
fn double_fragments() {
    let device = device();
    let doubles = |from: usize| -> Vec<f64> { (0..32).map(|i| entry(i + from) as f64 / 4.0).collect() };
    let (a, b) = (doubles(0), doubles(50));
    let c = device.zeros::<f64>(64);
    device.launch(
        "mma_f64",
        Launch::new(1, 32),
        &[device.upload(&a).arg(), device.upload(&b).arg(), c.arg()],
    );
    let got = device.download::<f64>(c);
    for row in 0..8 {
        for col in 0..8 {
            let sum: f64 = (0..4).map(|k| a[row * 4 + k] * b[col * 4 + k]).sum();
            assert_eq!(got[row * 8 + col], 0.5 + sum, "{row} {col}");
        }
    }
}

#[test]
fn transposed_tile() {
    let device = device();
    let tile: Vec<u16> = (0..64).map(|i| i * 1001).collect();
    let out = device.zeros::<u16>(64);
    device.launch("transpose", Launch::new(1, 32), &[device.upload(&tile).arg(), out.arg()]);
    let want: Vec<u16> = (0..64).map(|i| tile[i % 8 * 8 + i / 8]).collect();
    assert_eq!(device.download::<u16>(out), want);
}
