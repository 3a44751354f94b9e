//! CUDA C++ (`nvcc.cu`) as nvcc compiles it: `wmma` of every type, pipelines, barriers, clusters.

use half::{bf16, f16};
use virtual_gpu::Launch;

use crate::device::{Device, pointers};

const PTX: &str = include_str!("nvcc.ptx");

/// An element of a matrix.
trait Element: Copy {
    fn bytes(value: i32) -> Vec<u8>;
    fn value(bytes: &[u8]) -> f64;
}

macro_rules! element {
    ($($t:ty, |$v:ident| $from:expr, |$x:ident| $to:expr;)*) => {$(
        impl Element for $t {
            fn bytes($v: i32) -> Vec<u8> {
                let made: $t = $from;
                made.to_le_bytes().to_vec()
            }
            fn value(bytes: &[u8]) -> f64 {
                let $x = <$t>::from_le_bytes(bytes.try_into().unwrap());
                $to
            }
        }
    )*};
}

element! {
    f16, |v| f16::from_f32(v as f32), |x| x.to_f64();
    bf16, |v| bf16::from_f32(v as f32), |x| x.to_f64();
    f32, |v| v as f32, |x| x.into();
    f64, |v| v.into(), |x| x;
    i8, |v| v as i8, |x| x.into();
    u8, |v| v.unsigned_abs() as u8, |x| x.into();
    i32, |v| v, |x| x.into();
}

/// 3 · (A·B + 2) of small numbers; `a_columns` and `b_columns` say which matrices are column-major.
fn check<T: Element, C: Element>(kernel: &str, [m, n, k]: [usize; 3], a_columns: bool, b_columns: bool) {
    let small = |i: usize, seed: usize| ((i * 7919 + seed * 104_729) % 9) as i32 - 4;
    let value = |i: usize, seed: usize| T::value(&T::bytes(small(i, seed)));
    let fill =
        |count: usize, seed: usize| (0..count).flat_map(|i| T::bytes(small(i, seed))).collect::<Vec<_>>();
    let device = Device::new(PTX);
    let size = C::bytes(0).len();
    let out = device.upload(&vec![0xFF; m * n * size]);
    let params = pointers(&[device.upload(&fill(m * k, 1)), device.upload(&fill(k * n, 2)), out]);
    device.launch(kernel, Launch::new(1, 32), &params).unwrap_or_else(|error| panic!("{error}"));
    let read = device.download(out, m * n * size);
    for (i, bytes) in read.chunks(size).enumerate() {
        let (row, column) = (i / n, i % n);
        let a = |j: usize| value(if a_columns { j * m + row } else { row * k + j }, 1);
        let b = |j: usize| value(if b_columns { column * k + j } else { j * n + column }, 2);
        let sum: f64 = (0..k).map(|j| a(j) * b(j)).sum();
        assert_eq!(C::value(bytes), 3.0 * (sum + 2.0), "{kernel}: row {row}, column {column}");
    }
}

#[test]
fn fragments_of_every_type() {
    check::<f16, f32>("half_16_16_16", [16, 16, 16], false, true);
    check::<f16, f16>("half_8_32_16", [8, 32, 16], true, false);
    check::<f16, f32>("half_32_8_16", [32, 8, 16], false, false);
    check::<bf16, f32>("bf16_16_16_16", [16, 16, 16], true, true);
    check::<bf16, f32>("bf16_8_32_16", [8, 32, 16], false, false);
    check::<i8, i32>("s8_16_16_16", [16, 16, 16], false, true);
    check::<u8, i32>("u8_32_8_16", [32, 8, 16], true, false);
    check::<f64, f64>("f64_8_8_4", [8, 8, 4], false, true);
    check::<f32, f32>("tf32_16_16_8", [16, 16, 8], false, true);
}

fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

#[test]
fn pipelines_bring_every_tile_once() {
    let device = Device::new(PTX);
    for tiles in [1, 2, 5, 9] {
        let values: Vec<u32> = (0..tiles * 64).map(|i| i * i % 1000).collect();
        let input = device.upload(&words(&values));
        let expected: Vec<u32> = (0..64)
            .map(|t| (0..tiles).map(|tile| (tile + 1) * values[(tile * 64 + 63 - t) as usize]).sum())
            .collect();
        for (kernel, threads) in [("staged", 64), ("roles", 128)] {
            let out = device.upload(&[0; 256]);
            let mut params = pointers(&[input, out]);
            params.extend(tiles.to_le_bytes());
            device.launch(kernel, Launch::new(1, threads), &params).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(device.words(out, 64), expected, "{kernel}, {tiles} tiles");
        }
    }
}

#[test]
fn a_block_copies_together() {
    let device = Device::new(PTX);
    let count = 100;
    let values: Vec<u32> = (0..count * 4).collect();
    let (input, out) = (device.upload(&words(&values)), device.upload(&vec![0; 16 * count as usize]));
    let mut params = pointers(&[input, out]);
    params.extend(count.to_le_bytes());
    let launch = Launch::new(1, 64).dynamic_shared(16 * count);
    device.launch("together", launch, &params).unwrap_or_else(|error| panic!("{error}"));
    let expected: Vec<u32> = values.chunks(4).rev().flatten().copied().collect();
    assert_eq!(device.words(out, 4 * count as usize), expected);
}

#[test]
fn a_cluster_counts_into_its_blocks_shared_memory() {
    let device = Device::new(PTX);
    let values: Vec<u32> = (0..1000).map(|i| i * i * 31 % 64).collect();
    let (input, bins) = (device.upload(&words(&values)), device.upload(&[0; 256]));
    let mut params = pointers(&[input, bins]);
    params.extend(1000u32.to_le_bytes());
    device.launch("histogram", Launch::new(4, 64), &params).unwrap_or_else(|error| panic!("{error}"));
    let mut expected = vec![0; 64];
    values.iter().for_each(|&value| expected[value as usize] += 1);
    assert_eq!(device.words(bins, 64), expected);
}
