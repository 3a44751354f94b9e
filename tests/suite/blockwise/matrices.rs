//! Kernels on matrices.

use blockwise_kernels::attention::safe_attention;
use blockwise_kernels::product::*;
use blockwise_kernels::reduction::safe_matvec;
use blockwise_kernels::registers::{safe_matmul_ahead, safe_matmul_registers};
use blockwise_kernels::rows::{safe_layer_norm, safe_softmax};
use blockwise_kernels::stencil::safe_stencil;
use blockwise_kernels::transpose::*;
use warpsmith_launch::{Device, DeviceMatrix, LaunchOptions};

use super::{levels, numbers, oldest};

const SHAPES: [(usize, usize); 6] = [(1, 1), (1, 31), (33, 31), (31, 257), (255, 33), (100, 40)];

macro_rules! products {
    ($($test:ident $kernel:ident $levels:ident)*) => {$(
        pub fn $test(device: &Device) {
            let kernel = device.kernel::<$kernel>($levels()).unwrap();
            let pairs = SHAPES.into_iter().zip(SHAPES.into_iter().rev()).chain([((130, 36), (0, 132))]);
            for ((m, k), (_, n)) in pairs {
                let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
                let on_device = (
                    device.upload_matrix(&a, m, k).unwrap(),
                    device.upload_matrix(&b, k, n).unwrap(),
                );
                let mut c = device.upload_matrix(&vec![f32::NAN; m * n], m, n).unwrap();
                device.scope(|scope| scope.launch(&kernel, (&on_device.0, &on_device.1, &mut c))).unwrap();
                for (i, got) in device.download(&c).unwrap().into_iter().enumerate() {
                    let (row, col) = (i / n, i % n);
                    let expected: f32 = (0..k).map(|i| a[row * k + i] * b[i * n + col]).sum();
                    assert_eq!(got, expected, "({row}, {col}) of {m} × {k} × {n}");
                }
            }
        }
    )*};
}
products! {
    tiles_of_16_multiply safe_matmul_tiled_16 levels
    tiles_of_32_multiply safe_matmul_tiled_32 levels
    columns_multiply safe_matmul_column_order_16 levels
    padded_columns_multiply safe_matmul_column_order_padded_16 levels
    single_elements_multiply safe_matmul_naive levels
    registers_multiply safe_matmul_registers levels
    rings_multiply safe_matmul_ahead levels
    rings_multiply_without_asynchronous_copies safe_matmul_ahead oldest
}

pub fn tiles_as_deep_as_the_launch_says_multiply(device: &Device) {
    let kernel = device.kernel::<safe_matmul_dynamic>(levels()).unwrap();
    for (n, k, depth) in [(1, 1, 16), (33, 255, 16), (31, 100, 7), (65, 33, 40), (40, 16, 1)] {
        let (a, b) = (numbers(33 * k, 5), numbers(k * n, 6));
        let (from_a, from_b) = (matrix(device, &a, 33, k), matrix(device, &b, k, n));
        let mut c = matrix(device, &vec![f32::NAN; 33 * n], 33, n);
        let choice = LaunchOptions { shared: 2 * 16 * depth * 4, ..LaunchOptions::default() };
        device.scope(|scope| scope.launch_with(&kernel, choice, (depth, &from_a, &from_b, &mut c))).unwrap();
        for (i, got) in device.download(&c).unwrap().into_iter().enumerate() {
            let (row, col) = (i / n, i % n);
            let expected: f32 = (0..k).map(|i| a[row * k + i] * b[i * n + col]).sum();
            assert_eq!(got, expected, "({row}, {col}) of 33 × {n}, {depth} deep");
        }
    }
}

macro_rules! transposes {
    ($($test:ident $kernel:ident)*) => {$(
        pub fn $test(device: &Device) {
            let kernel = device.kernel::<$kernel>(levels()).unwrap();
            for (rows, cols) in SHAPES {
                let elements: Vec<f32> = (0..rows * cols).map(|i| i as f32).collect();
                let from = device.upload_matrix(&elements, rows, cols).unwrap();
                let mut to = device.upload_matrix(&vec![f32::NAN; rows * cols], cols, rows).unwrap();
                device.scope(|scope| scope.launch(&kernel, (&from, &mut to))).unwrap();
                for (i, got) in device.download(&to).unwrap().into_iter().enumerate() {
                    let (row, col) = (i / rows, i % rows);
                    assert_eq!(got, elements[col * cols + row], "({row}, {col}) of {cols} × {rows}");
                }
            }
        }
    )*};
}
transposes! {
    single_elements_turn safe_transpose_naive
    plain_tiles_turn safe_transpose_tile
    padded_tiles_turn safe_transpose_padded
    swizzled_tiles_turn safe_transpose_swizzled
}

fn matrix(device: &Device, elements: &[f32], rows: usize, cols: usize) -> DeviceMatrix<f32> {
    device.upload_matrix(elements, rows, cols).unwrap()
}

fn near(got: &[f32], expected: &[f64], what: &str) {
    assert_eq!(got.len(), expected.len());
    for (i, (got, expected)) in got.iter().zip(expected).enumerate() {
        let far = (f64::from(*got) - expected).abs();
        assert!(far <= 1e-5 * (1.0 + expected.abs()), "{what}, element {i}: {got}, should be {expected}");
    }
}

pub fn rows_are_normalised(device: &Device) {
    let softmax = device.kernel::<safe_softmax>(levels()).unwrap();
    let layer_norm = device.kernel::<safe_layer_norm>(levels()).unwrap();
    for (rows, cols) in SHAPES.into_iter().chain([(3, 1000)]) {
        let x = numbers(rows * cols, 4);
        let from = matrix(device, &x, rows, cols);
        let [mut soft, mut norm] = [0, 0].map(|_| matrix(device, &vec![f32::NAN; rows * cols], rows, cols));
        device
            .scope(|scope| {
                scope.launch(&softmax, (&from, &mut soft))?;
                scope.launch(&layer_norm, (0.5f32, &from, &mut norm))
            })
            .unwrap();
        let (mut soft_expected, mut norm_expected) = (Vec::new(), Vec::new());
        for row in x.chunks(cols) {
            let row: Vec<f64> = row.iter().map(|x| f64::from(*x)).collect();
            let sum: f64 = row.iter().map(|x| x.exp()).sum();
            soft_expected.extend(row.iter().map(|x| x.exp() / sum));
            let mean = row.iter().sum::<f64>() / cols as f64;
            let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / cols as f64;
            norm_expected.extend(row.iter().map(|x| (x - mean) / (variance + 0.5).sqrt()));
        }
        near(&device.download(&soft).unwrap(), &soft_expected, "softmax");
        near(&device.download(&norm).unwrap(), &norm_expected, "layer norm");
    }
}

pub fn rows_are_multiplied_by_a_vector(device: &Device) {
    let kernel = device.kernel::<safe_matvec>(levels()).unwrap();
    for (rows, cols) in SHAPES {
        let (a, x) = (numbers(rows * cols, 1), numbers(cols, 2));
        let (on_device, vector) = (matrix(device, &a, rows, cols), device.upload(&x).unwrap());
        let mut y = device.upload(&vec![f32::NAN; rows]).unwrap();
        device.scope(|scope| scope.launch(&kernel, (&on_device, &vector, &mut y))).unwrap();
        let expected: Vec<f32> =
            a.chunks(cols).map(|row| row.iter().zip(&x).map(|(a, x)| a * x).sum()).collect();
        assert_eq!(device.download(&y).unwrap(), expected);
    }
}

pub fn stencils_see_zero_beyond_the_edges(device: &Device) {
    let kernel = device.kernel::<safe_stencil>(levels()).unwrap();
    for (rows, cols) in SHAPES {
        let x = numbers(rows * cols, 5);
        let (from, mut to) =
            (matrix(device, &x, rows, cols), matrix(device, &vec![f32::NAN; rows * cols], rows, cols));
        device.scope(|scope| scope.launch(&kernel, (&from, &mut to))).unwrap();
        let at = |row: i64, col: i64| {
            let inside = (0..rows as i64).contains(&row) && (0..cols as i64).contains(&col);
            if inside { f64::from(x[row as usize * cols + col as usize]) } else { 0.0 }
        };
        let expected: Vec<f64> = (0..rows * cols)
            .map(|i| ((i / cols) as i64, (i % cols) as i64))
            .map(|(r, c)| (at(r, c) + at(r - 1, c) + at(r + 1, c) + at(r, c - 1) + at(r, c + 1)) / 5.0)
            .collect();
        near(&device.download(&to).unwrap(), &expected, "stencil");
    }
}

pub fn attention_is_one_pass(device: &Device) {
    let kernel = device.kernel::<safe_attention>(levels()).unwrap();
    for (queries, keys) in [(1, 1), (3, 31), (5, 64), (2, 65), (4, 257)] {
        let [q, k, v] = [(queries, 1), (keys, 2), (keys, 3)].map(|(rows, seed)| numbers(rows * 64, seed));
        let on_device =
            (matrix(device, &q, queries, 64), matrix(device, &k, keys, 64), matrix(device, &v, keys, 64));
        let mut out = matrix(device, &vec![f32::NAN; queries * 64], queries, 64);
        device
            .scope(|scope| {
                scope.launch(&kernel, (0.01f32, &on_device.0, &on_device.1, &on_device.2, &mut out))
            })
            .unwrap();
        let mut expected = Vec::new();
        for q in q.chunks(64) {
            let scores: Vec<f64> = k
                .chunks(64)
                .map(|k| (f64::from(q.iter().zip(k).map(|(q, k)| q * k).sum::<f32>()) * 0.01).exp())
                .collect();
            let sum: f64 = scores.iter().sum();
            expected.extend((0..64).map(|i| {
                scores.iter().enumerate().map(|(key, s)| s * f64::from(v[key * 64 + i])).sum::<f64>() / sum
            }));
        }
        near(&device.download(&out).unwrap(), &expected, &format!("{queries} queries, {keys} keys"));
    }
}
