//! A warp-specialised product with tensor copies, multicast, wgmma and a cluster (`gemm.cu`), as nvcc compiles it.

use half::bf16;
use virtual_gpu::Launch;
use virtual_gpu::tensor_map::{DataType, Swizzle, TensorMap};

use crate::device::Device;

const PTX: &str = include_str!("gemm.ptx");
/// `sizeof(Shared)`
const SHARED: u32 = 3 * (16384 + 16384) + 32768 + 1024;

/// A matrix of `rows` rows of `columns` bf16, in boxes of 64 columns.
fn map(address: u64, rows: usize, columns: usize, box_rows: u32) -> TensorMap {
    TensorMap {
        data_type: DataType::Bf16,
        rank: 2,
        address,
        dims: [columns as u64, rows as u64, 1, 1, 1],
        strides: [columns as u64 * 2, 0, 0, 0],
        box_dims: [64, box_rows, 1, 1, 1],
        element_strides: [1; 5],
        swizzle: Swizzle::B128,
        nan_fill: false,
        im2col: None,
    }
}

fn small(count: usize, seed: usize) -> Vec<i32> {
    (0..count).map(|i| ((i * 7919 + seed * 104_729) % 7) as i32 - 3).collect()
}

fn bytes(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|&v| bf16::from_f32(v as f32).to_le_bytes()).collect()
}

#[test]
fn a_hopper_product() {
    let device = Device::new(PTX);
    // The last step along k reaches over the edge; five steps go round the three stages.
    let (m, n, k) = (512, 256, 288);
    let (a, b) = (small(m * k, 1), small(n * k, 2));
    let c = device.upload(&vec![0xFF; m * n * 2]);
    let maps = [
        map(device.upload(&bytes(&a)), m, k, 128),
        map(device.upload(&bytes(&b)), n, k, 64),
        map(c, m, n, 64),
    ];
    let mut params: Vec<u8> = maps.iter().flat_map(|map| map.to_bytes()).collect();
    params.extend([n as i32, k as i32].iter().flat_map(|v| v.to_le_bytes()));
    let launch = Launch::new((m / 128 * (n / 128)) as u32, 384).dynamic_shared(SHARED);
    device.launch("gemm", launch, &params).unwrap_or_else(|error| panic!("{error}"));
    let read = device.download(c, m * n * 2);
    for (i, bytes) in read.as_chunks::<2>().0.iter().enumerate() {
        let (row, column) = (i / n, i % n);
        let sum: i32 = (0..k).map(|j| a[row * k + j] * b[column * k + j]).sum();
        assert_eq!(bf16::from_le_bytes(*bytes), bf16::from_f32(sum as f32), "row {row}, column {column}");
    }
}
