//! Kernels that go from level to level, or from diagonal to diagonal.

use std::f64::consts::{FRAC_1_SQRT_2, TAU};
use std::mem::swap;

use blockwise_kernels::diagonals::safe_align;
use blockwise_kernels::levels::{safe_fourier, safe_option_trees, safe_walsh, safe_wavelets};
use blockwise_kernels::suites::{safe_divide_step, safe_flow, safe_flow_step};
use warpsmith_launch::Device;

use super::{LENGTHS, levels, numbers};

fn near(got: &[f32], expected: &[f64], error: f64, what: &str) {
    assert_eq!(got.len(), expected.len());
    for (i, (got, expected)) in got.iter().zip(expected).enumerate() {
        let far = (f64::from(*got) - expected).abs();
        assert!(far <= error * (1.0 + expected.abs()), "{what}, element {i}: {got}, should be {expected}");
    }
}

pub fn rows_are_transformed(device: &Device) {
    let kernel = device.kernel::<safe_fourier>(levels()).unwrap();
    for rows in [1, 3] {
        let parts = numbers(2 * 512 * rows, 1);
        let x: Vec<[f32; 2]> = parts.chunks(2).map(|pair| [pair[0], pair[1]]).collect();
        let from = device.upload_matrix(&x, rows, 512).unwrap();
        let mut to = device.upload_matrix(&vec![[f32::NAN; 2]; 512 * rows], rows, 512).unwrap();
        device.scope(|scope| scope.launch(&kernel, (&from, &mut to))).unwrap();
        // Each by its definition, a sum of 512.
        let of = |row: &[[f32; 2]], i: usize| {
            row.iter().enumerate().fold([0.0; 2], |[re, im], (k, x)| {
                let (sin, cos) = (-TAU * (i * k % 512) as f64 / 512.0).sin_cos();
                let [a, b] = x.map(f64::from);
                [re + a * cos - b * sin, im + a * sin + b * cos]
            })
        };
        let expected: Vec<f64> =
            x.chunks(512).flat_map(|row| (0..512).flat_map(move |i| of(row, i))).collect();
        let got: Vec<f32> = device.download(&to).unwrap().into_iter().flatten().collect();
        near(&got, &expected, 2e-3, "a transform");
    }
}

/// Each level by itself: sums of neighbours before the differences.
fn haar(part: &mut [f64], len: usize) {
    if len < 2 {
        return;
    }
    let level: Vec<f64> = part[..len].to_vec();
    for (i, pair) in level.chunks(2).enumerate() {
        part[i] = (pair[0] + pair[1]) * FRAC_1_SQRT_2;
        part[len / 2 + i] = (pair[0] - pair[1]) * FRAC_1_SQRT_2;
    }
    haar(part, len / 2);
}

pub fn parts_are_turned_into_wavelets_and_walsh_functions(device: &Device) {
    let wavelets = device.kernel::<safe_wavelets>(levels()).unwrap();
    let walsh = device.kernel::<safe_walsh>(levels()).unwrap();
    for len in LENGTHS.into_iter().chain([512, 1537]) {
        let x = numbers(len, 2);
        let from = device.upload(&x).unwrap();
        let [mut one, mut other] = [0, 0].map(|_| device.upload(&vec![f32::NAN; len]).unwrap());
        device
            .scope(|scope| {
                scope.launch(&wavelets, (&from, &mut one))?;
                scope.launch(&walsh, (&from, &mut other))
            })
            .unwrap();
        // What is behind the end counts as zero, and what is computed there is nobody's.
        let mut padded: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
        padded.resize(len.next_multiple_of(512), 0.0);
        let sign = |i: usize, k: usize| if (i & k).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 };
        let of = |part: &[f64], i: usize| (0..512).map(|k| sign(i, k) * part[k]).sum();
        let expected: Vec<f64> =
            padded.chunks(512).flat_map(|part| (0..512).map(move |i| of(part, i))).take(len).collect();
        near(&device.download(&other).unwrap(), &expected, 0.0, "a Walsh transform");
        padded.chunks_mut(512).for_each(|part| haar(part, 512));
        near(&device.download(&one).unwrap(), &padded[..len], 1e-5, "wavelets");
    }
}

pub fn trees_price_options(device: &Device) {
    let kernel = device.kernel::<safe_option_trees>(levels()).unwrap();
    let (rate, deviation) = (0.0002, 0.01);
    for (len, steps) in [(1, 255), (7, 100), (33, 1), (3, 0)] {
        let price: Vec<f32> = numbers(len, 1).iter().map(|x| x + 50.0).collect();
        let strike: Vec<f32> = numbers(len, 2).iter().map(|x| x + 50.0).collect();
        let (from, of_strike) = (device.upload(&price).unwrap(), device.upload(&strike).unwrap());
        let mut worth = device.upload(&vec![f32::NAN; len]).unwrap();
        let arguments = (steps as u32, rate, deviation, &from, &of_strike, &mut worth);
        device.scope(|scope| scope.launch(&kernel, arguments)).unwrap();
        let (up, growth) = (f64::from(deviation).exp(), f64::from(rate).exp());
        let chance = (growth - 1.0 / up) / (up - 1.0 / up);
        let of = |(price, strike): (&f32, &f32)| {
            let leaf =
                |ups: i32| (f64::from(*price) * up.powi(2 * ups - steps) - f64::from(*strike)).max(0.0);
            let mut nodes: Vec<f64> = (0..=steps).map(leaf).collect();
            while nodes.len() > 1 {
                nodes = nodes
                    .windows(2)
                    .map(|two| (chance * two[1] + (1.0 - chance) * two[0]) / growth)
                    .collect();
            }
            nodes[0]
        };
        let expected: Vec<f64> = price.iter().zip(&strike).map(of).collect();
        near(&device.download(&worth).unwrap(), &expected, 1e-3, "a price");
    }
}

pub fn sequences_are_aligned(device: &Device) {
    let kernel = device.kernel::<safe_align>(levels()).unwrap();
    for (rows, cols) in [(1, 1), (1, 31), (33, 31), (65, 100)] {
        let scores: Vec<i32> = (0..rows * cols).map(|i| (i * 31 % 17) as i32 - 8).collect();
        let of_scores = device.upload_matrix(&scores, rows, cols).unwrap();
        let [mut before, mut table] =
            [0, 0].map(|_| device.upload_matrix(&vec![7777; rows * cols], rows, cols).unwrap());
        for diagonal in 0..rows.div_ceil(32) + cols.div_ceil(32) - 1 {
            device
                .scope(|scope| scope.launch(&kernel, (diagonal as u32, -3, &of_scores, &before, &mut table)))
                .unwrap();
            swap(&mut before, &mut table);
        }
        let mut expected = vec![vec![0; cols + 1]; rows + 1];
        for (row, col) in (0..=rows).flat_map(|row| (0..=cols).map(move |col| (row, col))) {
            expected[row][col] = if row == 0 || col == 0 {
                -3 * (row + col) as i32
            } else {
                let pair = expected[row - 1][col - 1] + scores[(row - 1) * cols + col - 1];
                pair.max(expected[row - 1][col] - 3).max(expected[row][col - 1] - 3)
            };
        }
        let expected: Vec<i32> = expected[1..].iter().flat_map(|row| row[1..].to_vec()).collect();
        assert_eq!(device.download(&before).unwrap(), expected, "{rows} × {cols}");
    }
}

pub fn brightness_flows_and_matrices_are_divided(device: &Device) {
    let flow = device.kernel::<safe_flow>(levels()).unwrap();
    let flow_step = device.kernel::<safe_flow_step>(levels()).unwrap();
    let divide = device.kernel::<safe_divide_step>(levels()).unwrap();
    for (rows, cols) in [(1, 1), (1, 31), (33, 31), (31, 257)] {
        let x: Vec<f32> = numbers(rows * cols, 1).iter().map(|x| x / 16.0 + 2.0).collect();
        let from = device.upload_matrix(&x, rows, cols).unwrap();
        let [mut flows, mut next, mut divided] =
            [0; 3].map(|_| device.upload_matrix(&vec![f32::NAN; rows * cols], rows, cols).unwrap());
        let pivot = rows.min(cols) / 2;
        device.scope(|scope| scope.launch(&flow, (0.25f32, &from, &mut flows))).unwrap();
        device
            .scope(|scope| {
                scope.launch(&flow_step, (0.5f32, &from, &flows, &mut next))?;
                scope.launch(&divide, (pivot as u32, &from, &mut divided))
            })
            .unwrap();
        let at = |row: usize, col: usize| f64::from(x[row * cols + col]);
        let beside = |row: usize, col: usize| {
            let (up, down) = ((row.saturating_sub(1), col), ((row + 1).min(rows - 1), col));
            let (left, right) = ((row, col.saturating_sub(1)), (row, (col + 1).min(cols - 1)));
            [up, down, left, right]
        };
        let flow_of = |row: usize, col: usize| {
            let own = at(row, col);
            let apart = beside(row, col).map(|(row, col)| at(row, col) - own);
            let squares = apart.iter().map(|apart| apart * apart).sum::<f64>() / (own * own);
            let sum = apart.iter().sum::<f64>() / own;
            let differs = (squares / 2.0 - sum * sum / 16.0) / (1.0 + sum / 4.0).powi(2);
            (1.0 / (1.0 + (differs - 0.25) / (0.25 * 1.25))).clamp(0.0, 1.0)
        };
        let places = || (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col)));
        let expected: Vec<f64> = places().map(|(row, col)| flow_of(row, col)).collect();
        near(&device.download(&flows).unwrap(), &expected, 1e-4, "a flow");
        let expected: Vec<f64> = places()
            .map(|(row, col)| {
                let own = flow_of(row, col);
                let [up, down, left, right] = beside(row, col);
                let flows = [own, flow_of(down.0, down.1), own, flow_of(right.0, right.1)];
                let moved = [up, down, left, right].map(|(r, c)| at(r, c) - at(row, col));
                at(row, col) + 0.125 * flows.iter().zip(moved).map(|(flow, moved)| flow * moved).sum::<f64>()
            })
            .collect();
        near(&device.download(&next).unwrap(), &expected, 1e-4, "an image");
        let expected: Vec<f64> = places()
            .map(|(row, col)| {
                let quotient = at(row, pivot) / at(pivot, pivot);
                if row <= pivot || col < pivot {
                    at(row, col)
                } else if col == pivot {
                    quotient
                } else {
                    at(row, col) - quotient * at(pivot, col)
                }
            })
            .collect();
        near(&device.download(&divided).unwrap(), &expected, 1e-5, "a division");
    }
}
