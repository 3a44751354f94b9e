//! `ldmatrix`, `stmatrix`, `movmatrix`, `mma.sync`, `wmma` and `wgmma` in kernels written by hand (`matrix.ptx`), with
//! small integers whose products are exact.

use crate::device::{Device, pointers};
use half::{bf16, f16};
use virtual_gpu::Launch;

const PTX: &str = include_str!("matrix.ptx");

fn f16_bytes(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|&value| f16::from_f32(value as f32).to_le_bytes()).collect()
}

fn bf16_bytes(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|&value| bf16::from_f32(value as f32).to_le_bytes()).collect()
}

fn pattern(count: usize, seed: usize) -> Vec<i32> {
    (0..count).map(|i| ((i * 7919 + seed * 104_729) % 15) as i32 - 7).collect()
}

/// A (m×k) · B (k×n), row by row.
fn product(a: &[i32], b: &[i32], n: usize, k: usize) -> Vec<i32> {
    (0..a.len() / k * n).map(|i| (0..k).map(|j| a[i / n * k + j] * b[j * n + i % n]).sum()).collect()
}

/// Runs a kernel with `a`, `b` and `out` and returns `count` words of `out`.
fn run(kernel: &str, threads: u32, a: &[u8], b: &[u8], count: usize) -> Vec<u32> {
    run_ptx(PTX, kernel, threads, a, b, count)
}

fn run_ptx(ptx: &str, kernel: &str, threads: u32, a: &[u8], b: &[u8], count: usize) -> Vec<u32> {
    let device = Device::new(ptx);
    let out = device.upload(&vec![0xFF; 4 * count]);
    let params = pointers(&[device.upload(a), device.upload(b), out]);
    device.launch(kernel, Launch::new(1, threads), &params).unwrap_or_else(|error| panic!("{error}"));
    device.words(out, count)
}

#[test]
fn copies_ldmatrix_and_mma() {
    let (a, b) = (pattern(256, 1), pattern(128, 2));
    let out = run("multiply", 32, &f16_bytes(&a), &f16_bytes(&b), 128);
    let expected = product(&a, &b, 8, 16);
    for (i, &bits) in out.iter().enumerate() {
        // C is 1 in the odd columns of the lower half.
        let c = f32::from(i >= 64 && i % 2 == 1);
        assert_eq!(f32::from_bits(bits), expected[i] as f32 + c, "element {i}");
    }
}

#[test]
fn matrices_are_transposed_in_registers_and_on_their_way() {
    let a: Vec<u16> = (0..64).collect();
    let bytes: Vec<u8> = a.iter().flat_map(|value| value.to_le_bytes()).collect();
    let out = run("transpose", 32, &bytes, &[0; 4], 64);
    let transposed: Vec<u32> = (0..32)
        .map(|i| {
            let (row, column) = (i / 4, i % 4 * 2);
            (column * 8 + row) | ((column + 1) * 8 + row) << 16
        })
        .collect();
    assert_eq!(out[..32], transposed);
    assert_eq!(out[32..], transposed);
}

#[test]
fn fragments_are_loaded_multiplied_and_stored() {
    let (a, b) = (pattern(256, 3), pattern(256, 4));
    // B lies column by column.
    let by_rows: Vec<i32> = (0..256).map(|i| b[i % 16 * 16 + i / 16]).collect();
    let out = run("fragments", 32, &f16_bytes(&a), &f16_bytes(&b), 256);
    let expected: Vec<f32> = product(&a, &by_rows, 16, 16).iter().map(|&d| d as f32 + 1.0).collect();
    assert_eq!(out.iter().map(|&bits| f32::from_bits(bits)).collect::<Vec<_>>(), expected);
}

#[test]
fn a_warpgroup_multiplies_from_shared_memory_and_registers() {
    let (a, b) = (pattern(1024, 5), pattern(256, 6));
    // B lies column by column: sixteen columns of sixteen k.
    let by_rows: Vec<i32> = (0..256).map(|i| b[i % 16 * 16 + i / 16]).collect();
    let out = run("group", 128, &bf16_bytes(&a), &bf16_bytes(&b), 1024);
    let once = product(&a, &by_rows, 16, 16);
    // Twice A·B, less what a matrix of ones gives.
    let ones: Vec<i32> = (0..16).map(|n| (0..16).map(|k| by_rows[k * 16 + n]).sum()).collect();
    for (i, &bits) in out.iter().enumerate() {
        assert_eq!(f32::from_bits(bits), (2 * once[i] - ones[i % 16]) as f32, "element {i}");
    }
}

/// The first warp to finish waiting for the warpgroup's product clears B: the product must still be that of all four
/// warps.
#[test]
fn who_has_waited_for_a_product_may_overwrite_its_operands() {
    let (a, b) = (pattern(1024, 5), pattern(256, 6));
    let end = "    // Row t / 4 % 8";
    let clear = "mov.u32 %r30, 0; @%p st.shared.v4.u32 [%r14], {%r30, %r30, %r30, %r30};";
    let ptx = PTX.replace(end, &format!("{clear}\n{end}"));
    assert_ne!(ptx, PTX);
    let [left, cleared] =
        [PTX, &ptx].map(|ptx| run_ptx(ptx, "group", 128, &bf16_bytes(&a), &bf16_bytes(&b), 1024));
    assert_eq!(left, cleared);
}

/// All four warps have filled their parts of the operands when the product begins, since all have reached the fence.
#[test]
fn a_product_begins_when_the_whole_warpgroup_is_there() {
    let (a, b) = (pattern(1024, 5), pattern(256, 6));
    let ptx = PTX.replacen("    bar.sync 0;\n    // Leading distance", "    // Leading distance", 1);
    assert_ne!(ptx, PTX);
    let [met, left] =
        [PTX, &ptx].map(|ptx| run_ptx(ptx, "group", 128, &bf16_bytes(&a), &bf16_bytes(&b), 1024));
    assert_eq!(met, left);
}

/// Which two of four neighbours along k a row keeps varies by group and row; the bit pairs are in the quads' third and
/// fourth lanes, as CUTLASS lays them out for a warpgroup.
#[test]
fn a_warpgroup_multiplies_a_sparse_matrix() {
    let (kept, b) = (pattern(64 * 16, 5), pattern(32 * 8, 6));
    let pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
    let places = |row: usize, group: usize| pairs[(row * 5 + group * 3 + row / 8) % 6];
    let mut full = vec![0; 64 * 32];
    for row in 0..64 {
        for group in 0..8 {
            let (first, second) = places(row, group);
            full[row * 32 + group * 4 + first] = kept[row * 16 + group * 2];
            full[row * 32 + group * 4 + second] = kept[row * 16 + group * 2 + 1];
        }
    }
    let mut words = Vec::new();
    for thread in 0..128 {
        let (row, lane) = (thread / 32 * 16 + thread % 32 / 4, thread % 4);
        for (register, low) in [(row, 0), (row + 8, 0), (row, 8), (row + 8, 8)] {
            let at = register * 16 + low + lane * 2;
            words.extend(f16_bytes(&kept[at..at + 2]));
        }
        let metadata = |row: usize| {
            (0..4)
                .map(|group| (places(row, lane % 2 * 4 + group), group * 4))
                .fold(0u32, |bits, (place, at)| bits | ((place.0 | place.1 << 2) << at) as u32)
        };
        let word = metadata(row) | metadata(row + 8) << 16;
        words.extend(if lane < 2 { 0xFFFF_FFFFu32 } else { word }.to_le_bytes());
    }
    // Eight columns of eight along k are a core matrix.
    let columns: Vec<i32> = (0..256).map(|i| b[(i / 64 * 8 + i % 8) * 8 + i / 8 % 8]).collect();
    let out = run("sparse_group", 128, &words, &f16_bytes(&columns), 512);
    let expected = product(&full, &b, 8, 32);
    for (i, &bits) in out.iter().enumerate() {
        let (thread, element) = (i / 4, i % 4);
        let row = thread / 32 * 16 + thread % 32 / 4 + element / 2 * 8;
        let column = thread % 4 * 2 + element % 2;
        assert_eq!(
            f32::from_bits(bits),
            2.0 * expected[row * 8 + column] as f32,
            "row {row}, column {column}"
        );
    }
}
