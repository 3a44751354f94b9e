//! What the kernels compute, on the virtual GPU, at sizes that divide nothing.
#![forbid(unsafe_code)]

use std::sync::OnceLock;

use blockwise_kernels::product::{safe_matmul_tiled_16, safe_matmul_tiled_32};
use blockwise_kernels::transpose::safe_transpose_padded;
use blockwise_kernels::vecadd::safe_vecadd;
use cuda_builder::{CudaBuilder, NvvmArch};
use warpsmith_launch::cust::memory::DeviceBuffer;
use warpsmith_launch::{Device, DeviceMatrix, Level, Levels, Wish};

const LENGTHS: [usize; 6] = [1, 31, 33, 255, 257, 1000];
const SHAPES: [(usize, usize); 6] = [(1, 1), (1, 31), (33, 31), (31, 257), (255, 33), (100, 40)];

/// The kernels, compiled once.
fn levels() -> &'static Levels {
    static LEVELS: OnceLock<Levels> = OnceLock::new();
    LEVELS.get_or_init(|| {
        let built = CudaBuilder::new(env!("CARGO_MANIFEST_DIR")).arch(NvvmArch::Compute75).build().unwrap();
        Levels::new(Vec::leak(vec![Level::new(std::fs::read_to_string(built).unwrap().leak())]))
    })
}

fn device() -> Device {
    Device::open(Wish::Virtual).unwrap()
}

/// Small whole numbers, whose sums of products are exact.
fn numbers(len: usize, seed: usize) -> Vec<f32> {
    (0..len).map(|i| ((i * 7 + seed * 13 + i / 5) % 17) as f32 - 8.0).collect()
}

#[test]
fn vectors_are_added() {
    let device = device();
    let kernel = device.kernel::<safe_vecadd>(levels()).unwrap();
    for len in LENGTHS {
        let (a, b) = (numbers(len, 1), numbers(len, 2));
        let on_device = [&a, &b].map(|v| DeviceBuffer::from_slice(v).unwrap());
        let mut sum = DeviceBuffer::from_slice(&vec![f32::NAN; len]).unwrap();
        device
            .scope(|scope| scope.launch(&kernel, (&on_device[0], &on_device[1], &mut sum)))
            .unwrap()
            .unwrap();
        let expected: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
        assert_eq!(sum.as_host_vec().unwrap(), expected, "{len}");
    }
}

macro_rules! products {
    ($($test:ident $kernel:ident)*) => {$(
        #[test]
        fn $test() {
            let device = device();
            let kernel = device.kernel::<$kernel>(levels()).unwrap();
            for ((m, k), (_, n)) in SHAPES.into_iter().zip(SHAPES.into_iter().rev()) {
                let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
                let on_device = (
                    DeviceMatrix::from_slice(&a, m, k).unwrap(),
                    DeviceMatrix::from_slice(&b, k, n).unwrap(),
                );
                let mut c = DeviceMatrix::from_slice(&vec![f32::NAN; m * n], m, n).unwrap();
                device.scope(|scope| scope.launch(&kernel, (&on_device.0, &on_device.1, &mut c))).unwrap().unwrap();
                for (i, got) in c.to_vec().unwrap().into_iter().enumerate() {
                    let (row, col) = (i / n, i % n);
                    let expected: f32 = (0..k).map(|i| a[row * k + i] * b[i * n + col]).sum();
                    assert_eq!(got, expected, "({row}, {col}) of {m} × {k} × {n}");
                }
            }
        }
    )*};
}
products! {
    tiles_of_16_multiply safe_matmul_tiled_16
    tiles_of_32_multiply safe_matmul_tiled_32
}

macro_rules! transposes {
    ($($test:ident $kernel:ident)*) => {$(
        #[test]
        fn $test() {
            let device = device();
            let kernel = device.kernel::<$kernel>(levels()).unwrap();
            for (rows, cols) in SHAPES {
                let elements: Vec<f32> = (0..rows * cols).map(|i| i as f32).collect();
                let from = DeviceMatrix::from_slice(&elements, rows, cols).unwrap();
                let mut to = DeviceMatrix::from_slice(&vec![f32::NAN; rows * cols], cols, rows).unwrap();
                device.scope(|scope| scope.launch(&kernel, (&from, &mut to))).unwrap().unwrap();
                for (i, got) in to.to_vec().unwrap().into_iter().enumerate() {
                    let (row, col) = (i / rows, i % rows);
                    assert_eq!(got, elements[col * cols + row], "({row}, {col}) of {cols} × {rows}");
                }
            }
        }
    )*};
}
transposes! {
    padded_tiles_turn safe_transpose_padded
}
