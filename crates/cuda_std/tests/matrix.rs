//! `warp::matrix` on the virtual GPU: small integers, whose products are exact in every type.

use cuda_builder::{CudaBuilder, NvvmArch};
use cuda_std::{bf16, f16};
use std::path::Path;
use std::sync::OnceLock;
use virtual_gpu::{Gpu, Launch};

fn ptx() -> &'static str {
    static PTX: OnceLock<String> = OnceLock::new();
    PTX.get_or_init(|| {
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/device");
        let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join("matrix_fixture.ptx");
        let built = CudaBuilder::new(fixture).arch(NvvmArch::Compute80).copy_to(copy).build();
        std::fs::read_to_string(built.unwrap_or_else(|error| panic!("{error}"))).unwrap()
    })
}

/// The elements that kernels take, as bytes.
#[derive(Clone, Copy)]
enum Type {
    F16,
    Bf16,
    F32,
    F64,
    I8,
    I32,
}

impl Type {
    fn bytes(self, values: &[i32]) -> Vec<u8> {
        let of = |x: &i32| match self {
            Type::F16 => f16::from_f32(*x as f32).to_le_bytes().to_vec(),
            Type::Bf16 => bf16::from_f32(*x as f32).to_le_bytes().to_vec(),
            Type::F32 => (*x as f32).to_le_bytes().to_vec(),
            Type::F64 => f64::from(*x).to_le_bytes().to_vec(),
            Type::I8 => (*x as i8).to_le_bytes().to_vec(),
            Type::I32 => x.to_le_bytes().to_vec(),
        };
        values.iter().flat_map(of).collect()
    }
}

/// A matrix as a kernel sees it: 32 elements between rows, or between columns.
fn laid_out(rows: usize, columns: usize, by_columns: bool, of: impl Fn(usize, usize) -> i32) -> Vec<i32> {
    let mut all = vec![0; 1024];
    for row in 0..rows {
        for column in 0..columns {
            all[if by_columns { column * 32 + row } else { row * 32 + column }] = of(row, column);
        }
    }
    all
}

/// Runs `name` and compares everything it writes.
fn check(name: &str, [m, n, k]: [usize; 3], layouts: &str, operand: Type, sum: Type, bits: bool) {
    let value = |seed: usize, row: usize, column: usize| {
        let mixed = (row * 7919 + column * 104_729 + seed * 31) % 7;
        if bits { (mixed % 2) as i32 } else { mixed as i32 }
    };
    let a = |row, column| value(1, row, column);
    let b = |row, column| value(2, row, column);
    let c = |row, column| value(3, row, column);
    let by_columns: Vec<bool> = layouts.chars().map(|layout| layout == 'C').collect();
    let inputs = [
        operand.bytes(&laid_out(m, k, by_columns[0], a)),
        operand.bytes(&laid_out(k, n, by_columns[1], b)),
        sum.bytes(&laid_out(m, n, by_columns[2], c)),
    ];
    let product = |row, column| c(row, column) + (0..k).map(|i| a(row, i) * b(i, column)).sum::<i32>();
    let expected = sum.bytes(&laid_out(m, n, by_columns[2], product));

    let gpu = Gpu::new(&gpu_model::chips::H200);
    let mut addresses = Vec::new();
    for bytes in inputs.iter().chain([&sum.bytes(&[0; 1024])]) {
        addresses.push(gpu.memory().alloc(bytes.len() as u64).unwrap());
        gpu.memory().write(*addresses.last().unwrap(), bytes).unwrap();
    }
    let params: Vec<u8> = addresses.iter().flat_map(|address| address.to_le_bytes()).collect();
    let kernel = gpu.load(ptx()).unwrap().kernel(name).unwrap();
    gpu.launch(&kernel, &Launch::new(1, 32), &params, &mut ())
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut got = vec![0; expected.len()];
    gpu.memory().read(addresses[3], &mut got).unwrap();
    assert_eq!(got, expected, "{name}");
}

#[test]
fn products_of_every_element_in_every_shape() {
    use Type::{Bf16, F16, F32, F64, I8, I32};
    let square = [16, 16, 16];
    let (tall, wide) = ([32, 8, 16], [8, 32, 16]);
    check("half", square, "RCR", F16, F32, false);
    check("half_by_columns", square, "CRC", F16, F32, false);
    check("half_tall", tall, "RRR", F16, F32, false);
    check("half_wide", wide, "CCR", F16, F32, false);
    check("half_into_half", square, "RCR", F16, F16, false);
    check("brain", square, "RRR", Bf16, F32, false);
    check("brain_tall", tall, "RCR", Bf16, F32, false);
    check("brain_wide", wide, "RCC", Bf16, F32, false);
    check("bytes", square, "RCR", I8, I32, false);
    check("bytes_tall", tall, "RCR", I8, I32, false);
    check("bytes_wide", wide, "RRR", I8, I32, false);
    check("bits", square, "RCR", I8, I32, true);
    check("tensor_float", [16, 16, 8], "RCR", F32, F32, false);
    check("tensor_float_by_columns", [16, 16, 8], "CRC", F32, F32, false);
    check("double", [8, 8, 4], "RCR", F64, F64, false);
    check("double_by_columns", [8, 8, 4], "CRC", F64, F64, false);
}

#[test]
fn operands_of_mma_come_from_shared_memory_in_either_layout() {
    check("shared_rows", [16, 8, 16], "RRR", Type::F16, Type::F32, false);
    check("shared_columns", [16, 8, 16], "CCR", Type::Bf16, Type::F32, false);
    check("shared_mixed", [16, 8, 16], "RCR", Type::Bf16, Type::F32, false);
}

#[test]
fn fragments_are_made_of_a_lanes_own_values() {
    let gpu = Gpu::new(&gpu_model::chips::H200);
    let out = gpu.memory().alloc(4096).unwrap();
    let kernel = gpu.load(ptx()).unwrap().kernel("in_registers").unwrap();
    gpu.launch(&kernel, &Launch::new(1, 32), &out.to_le_bytes(), &mut ()).unwrap();
    let mut got = vec![0; 4096];
    gpu.memory().read(out, &mut got).unwrap();
    for row in 0..16 {
        for column in 0..16 {
            let at = (row * 32 + column) * 4;
            let value = f32::from_le_bytes(got[at..][..4].try_into().unwrap());
            // 16 products each of 2 · 3, and of 1 · 3.
            assert_eq!(value, if column < 8 { 96.0 } else { 48.0 }, "row {row}, column {column}");
        }
    }
}
