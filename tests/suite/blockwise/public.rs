//! Kernels of public suites, against plain loops.

use blockwise_kernels::public::*;
use warpsmith_launch::cust::memory::DeviceCopy;
use warpsmith_launch::{Buffer, Device, LaunchOptions};

use super::{LENGTHS, levels, numbers};

fn on_device<T: DeviceCopy>(device: &Device, values: &[T]) -> Buffer<T> {
    device.upload(values).unwrap()
}

/// A grid for `len` elements in blocks of 256, where no output decides it.
fn blocks(len: usize) -> LaunchOptions {
    LaunchOptions { grid: Some([len.div_ceil(256) as u32, 1, 1]), ..LaunchOptions::default() }
}

pub fn lines_are_reduced_and_stepped(device: &Device) {
    let dot = device.kernel::<safe_dot>(levels()).unwrap();
    let pulls = device.kernel::<safe_pulls>(levels()).unwrap();
    let step = device.kernel::<safe_cheapest_step>(levels()).unwrap();
    for len in LENGTHS {
        let (a, b) = (numbers(len, 1), numbers(len, 2));
        let costs: Vec<u32> = (0..len as u32).map(|i| i * 7 % 13).collect();
        let [from_a, from_b] = [&a, &b].map(|x| on_device(device, x));
        let cost = on_device(device, &costs);
        let (mut sums, mut pull) =
            (on_device(device, &[f32::NAN; 3]), on_device(device, &vec![f32::NAN; len]));
        let mut after = on_device(device, &vec![0u32; len]);
        device
            .scope(|scope| {
                scope.launch(&dot, (&from_a, &from_b, &mut sums))?;
                scope.launch(&pulls, (&from_a, &from_b, &mut pull))?;
                scope.launch(&step, (&cost, &cost, &mut after))
            })
            .unwrap();
        let expected: f32 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
        assert_eq!(device.download(&sums).unwrap().iter().sum::<f32>(), expected, "{len}");
        for (i, got) in device.download(&pull).unwrap().into_iter().enumerate() {
            let of = |(place, mass): (&f32, &f32)| {
                let apart = f64::from(place - a[i]);
                f64::from(*mass) * apart / (apart * apart + 1.0)
            };
            let expected: f64 = a.iter().zip(&b).map(of).sum();
            assert!((f64::from(got) - expected).abs() < 1e-2, "{len}, {i}: {got}, should be {expected}");
        }
        for (i, got) in device.download(&after).unwrap().into_iter().enumerate() {
            let least = costs[i.saturating_sub(1)..(i + 2).min(len)].iter().min().unwrap();
            assert_eq!(got, costs[i] + least, "{len}, {i}");
        }
    }
}

pub fn counters_collect(device: &Device) {
    let count = device.kernel::<safe_count_inside>(levels()).unwrap();
    let nearest = device.kernel::<safe_nearest_centres>(levels()).unwrap();
    let reach = device.kernel::<safe_reach>(levels()).unwrap();
    let keep = device.kernel::<safe_keep>(levels()).unwrap();
    for len in LENGTHS {
        let x: Vec<f32> = numbers(len, 1).iter().map(|x| x / 7.0).collect();
        let y: Vec<f32> = numbers(len, 2).iter().map(|x| x / 7.0).collect();
        let points = numbers(len, 3);
        let edges: Vec<u32> = (0..len).map(|i| ((i * 31 + 7) % len) as u32).collect();
        let back: Vec<u32> = (0..len).map(|i| ((i * i) % len) as u32).collect();
        let level: Vec<u32> = (0..len as u32).map(|i| i % 3).collect();
        let (mut inside, mut next) = (on_device(device, &[0u32]), on_device(device, &[0u32]));
        let (mut sums, mut counts) = (on_device(device, &[0.0f32; 3]), on_device(device, &[0u32; 3]));
        let [mut reached, mut kept] = [0, 0].map(|_| on_device(device, &vec![0u32; len]));
        let (from_x, from_y, from_points) =
            (on_device(device, &x), on_device(device, &y), on_device(device, &points));
        let (centres, of_level) = (on_device(device, &[-6.5f32, 0.25, 6.5]), on_device(device, &level));
        let (from_edges, to_edges) = (on_device(device, &edges), on_device(device, &back));
        let grid = blocks(len);
        device
            .scope(|scope| {
                scope.launch_with(&count, grid, (&from_x, &from_y, &mut inside))?;
                scope.launch_with(&nearest, grid, (&from_points, &centres, &mut sums, &mut counts))?;
                scope.launch_with(&reach, grid, (&of_level, &from_edges, &to_edges, &mut reached))?;
                scope.launch_with(&keep, grid, (&of_level, &mut next, &mut kept))
            })
            .unwrap();
        let expected = x.iter().zip(&y).filter(|(x, y)| *x * *x + *y * *y <= 1.0).count();
        assert_eq!(device.download(&inside).unwrap(), [expected as u32], "{len}");
        let of = |point: f32| {
            if point < -3.125 {
                0
            } else if point < 3.375 {
                1
            } else {
                2
            }
        };
        let (mut sums_expected, mut counts_expected) = ([0.0; 3], [0; 3]);
        for point in points {
            sums_expected[of(point)] += point;
            counts_expected[of(point)] += 1;
        }
        assert_eq!(device.download(&sums).unwrap(), sums_expected, "{len}");
        assert_eq!(device.download(&counts).unwrap(), counts_expected, "{len}");
        let mut reached_expected = vec![0; len];
        for (from, to) in edges.iter().zip(&back) {
            reached_expected[*to as usize] += u32::from(level[*from as usize] == 1);
        }
        assert_eq!(device.download(&reached).unwrap(), reached_expected, "{len}");
        let mut left: Vec<u32> = level.iter().copied().filter(|level| *level != 0).collect();
        assert_eq!(device.download(&next).unwrap(), [left.len() as u32], "{len}");
        let mut kept = device.download(&kept).unwrap()[..left.len()].to_vec();
        left.sort_unstable();
        kept.sort_unstable();
        assert_eq!(kept, left, "{len}");
    }
}

pub fn matrices_are_convolved_reduced_and_shortened(device: &Device) {
    let convolve = device.kernel::<safe_convolve_rows>(levels()).unwrap();
    let columns = device.kernel::<safe_columns_times>(levels()).unwrap();
    let shorter = device.kernel::<safe_shorter_by_way_of>(levels()).unwrap();
    let weights = numbers(9, 4);
    for (rows, cols) in [(1, 1), (33, 31), (31, 257), (7, 130)] {
        let (a, r) = (numbers(rows * cols, 1), numbers(rows, 2));
        let matrix = device.upload_matrix(&a, rows, cols).unwrap();
        let mut to = device.upload_matrix(&vec![f32::NAN; rows * cols], rows, cols).unwrap();
        let (of_weights, of_r, mut s) =
            (on_device(device, &weights), on_device(device, &r), on_device(device, &vec![f32::NAN; cols]));
        let ways: Vec<u32> =
            (0..rows as u32 * rows as u32).map(|i| i.wrapping_mul(2_654_435_761) >> 20).collect();
        let from = device.upload_matrix(&ways, rows, rows).unwrap();
        let mut short = device.upload_matrix(&vec![0; rows * rows], rows, rows).unwrap();
        let way = rows / 2;
        device
            .scope(|scope| {
                scope.launch(&convolve, (&of_weights, &matrix, &mut to))?;
                scope.launch(&columns, (&matrix, &of_r, &mut s))?;
                scope.launch(&shorter, (way as u32, &from, &mut short))
            })
            .unwrap();
        for (i, got) in device.download(&to).unwrap().into_iter().enumerate() {
            let (row, col) = (i / cols, (i % cols) as i64);
            let at =
                |col: i64| if (0..cols as i64).contains(&col) { a[row * cols + col as usize] } else { 0.0 };
            let expected: f32 = (0..9).map(|i| weights[i as usize] * at(col + i - 4)).sum();
            assert_eq!(got, expected, "{rows} × {cols}, {i}");
        }
        for (col, got) in device.download(&s).unwrap().into_iter().enumerate() {
            let expected: f32 = (0..rows).map(|row| a[row * cols + col] * r[row]).sum();
            assert_eq!(got, expected, "{rows} × {cols}, column {col}");
        }
        for (i, got) in device.download(&short).unwrap().into_iter().enumerate() {
            let (row, col) = (i / rows, i % rows);
            assert_eq!(got, ways[i].min(ways[row * rows + way] + ways[way * rows + col]), "{rows}, {i}");
        }
    }
}
