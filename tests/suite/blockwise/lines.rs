//! Kernels on slices.

use blockwise_kernels::coalescing::*;
use blockwise_kernels::histogram::{safe_histogram_global, safe_histogram_shared};
use blockwise_kernels::records::{safe_arrays_to_points, safe_points_to_arrays};
use blockwise_kernels::reduction::safe_sums;
use blockwise_kernels::scan::{safe_add_before, safe_scan_parts};
use blockwise_kernels::sort::{safe_radix_pass, safe_sort_parts};
use blockwise_kernels::stencil::safe_windows;
use blockwise_kernels::vecadd::safe_vecadd;
use warpsmith_launch::cust::memory::DeviceCopy;
use warpsmith_launch::{Buffer, Device, LaunchOptions};

use super::{LENGTHS, levels, numbers};

fn on_device<T: DeviceCopy>(device: &Device, values: &[T]) -> Buffer<T> {
    device.upload(values).unwrap()
}

fn keys(len: usize) -> Vec<u32> {
    (0..len as u32).map(|i| i.wrapping_mul(2_654_435_761) >> 7).collect()
}

pub fn vectors_are_added(device: &Device) {
    let kernel = device.kernel::<safe_vecadd>(levels()).unwrap();
    for len in LENGTHS {
        let (a, b) = (numbers(len, 1), numbers(len, 2));
        let (from, mut sum) =
            ([on_device(device, &a), on_device(device, &b)], on_device(device, &vec![f32::NAN; len]));
        device.scope(|scope| scope.launch(&kernel, (&from[0], &from[1], &mut sum))).unwrap();
        let expected: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
        assert_eq!(device.download(&sum).unwrap(), expected, "{len}");
    }
}

pub fn windows_are_as_long_as_the_launch_says(device: &Device) {
    let kernel = device.kernel::<safe_windows>(levels()).unwrap();
    for len in LENGTHS {
        let x = numbers(len, 4);
        for window in [0, 1, 100, 256, 300] {
            let (from, mut sums) = (on_device(device, &x), on_device(device, &vec![f32::NAN; len]));
            let choice = LaunchOptions { shared: 4 * (256 + window), ..LaunchOptions::default() };
            device.scope(|scope| scope.launch_with(&kernel, choice, (window, &from, &mut sums))).unwrap();
            let sum = |i: usize| x[i..len.min(i + window as usize)].iter().sum();
            let expected: Vec<f32> = (0..len).map(sum).collect();
            assert_eq!(device.download(&sums).unwrap(), expected, "{len}, windows of {window}");
        }
    }
}

pub fn blocks_add_up_what_strides_of_the_grid_find(device: &Device) {
    let kernel = device.kernel::<safe_sums>(levels()).unwrap();
    for len in LENGTHS {
        let x = numbers(len, 3);
        for blocks in [1, 2, 5] {
            let (from, mut sums) = (on_device(device, &x), on_device(device, &vec![f32::NAN; blocks]));
            device.scope(|scope| scope.launch(&kernel, (&from, &mut sums))).unwrap();
            let sum: f32 = device.download(&sums).unwrap().iter().sum();
            assert_eq!(sum, x.iter().sum::<f32>(), "{len} elements, {blocks} blocks");
        }
    }
}

/// Inclusive and exclusive sums, by as many launches as the length needs.
fn scan(device: &Device, x: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let parts = x.len().div_ceil(256);
    let from = on_device(device, x);
    let [mut inclusive, mut exclusive] = [0, 0].map(|_| on_device(device, &vec![7u32; x.len()]));
    let mut totals = on_device(device, &vec![7u32; parts]);
    let scan_parts = device.kernel::<safe_scan_parts>(levels()).unwrap();
    device
        .scope(|scope| scope.launch(&scan_parts, (&from, &mut inclusive, &mut exclusive, &mut totals)))
        .unwrap();
    if parts > 1 {
        let before = on_device(device, &scan(device, &device.download(&totals).unwrap()).1);
        let add_before = device.kernel::<safe_add_before>(levels()).unwrap();
        device
            .scope(|scope| {
                scope.launch(&add_before, (&before, &mut inclusive))?;
                scope.launch(&add_before, (&before, &mut exclusive))
            })
            .unwrap();
    }
    (device.download(&inclusive).unwrap(), device.download(&exclusive).unwrap())
}

pub fn scans_are_right_at_any_length(device: &Device) {
    for len in LENGTHS.into_iter().chain([256, 512, 70_000]) {
        let x: Vec<u32> = keys(len).iter().map(|key| key % 100).collect();
        let mut sum = 0;
        let expected: Vec<(u32, u32)> = x
            .iter()
            .map(|x| {
                sum += x;
                (sum, sum - x)
            })
            .collect();
        let (inclusive, exclusive) = scan(device, &x);
        assert_eq!(inclusive.into_iter().zip(exclusive).collect::<Vec<_>>(), expected, "{len}");
    }
}

pub fn histograms_count_every_byte(device: &Device) {
    let global = device.kernel::<safe_histogram_global>(levels()).unwrap();
    let shared = device.kernel::<safe_histogram_shared>(levels()).unwrap();
    for len in LENGTHS {
        let bytes: Vec<u8> = keys(len).iter().map(|key| (key % 97) as u8).collect();
        let from = on_device(device, &bytes);
        let [mut one, mut other] = [0, 0].map(|_| on_device(device, &[0u32; 256]));
        let choice = LaunchOptions { grid: Some([3, 1, 1]), ..LaunchOptions::default() };
        device
            .scope(|scope| {
                scope.launch_with(&global, choice, (&from, &mut one))?;
                scope.launch_with(&shared, choice, (&from, &mut other))
            })
            .unwrap();
        let mut expected = vec![0; 256];
        bytes.iter().for_each(|byte| expected[usize::from(*byte)] += 1);
        assert_eq!(device.download(&one).unwrap(), expected, "{len}");
        assert_eq!(device.download(&other).unwrap(), expected, "{len}");
    }
}

pub fn parts_are_sorted(device: &Device) {
    let sort = device.kernel::<safe_sort_parts>(levels()).unwrap();
    let pass = device.kernel::<safe_radix_pass>(levels()).unwrap();
    for len in LENGTHS {
        let keys = keys(len);
        let (from, mut sorted, mut split) =
            (on_device(device, &keys), on_device(device, &keys), on_device(device, &keys));
        device
            .scope(|scope| {
                scope.launch(&sort, (&from, &mut sorted))?;
                scope.launch(&pass, (3u32, &from, &mut split))
            })
            .unwrap();
        let mut expected = keys.clone();
        expected.chunks_mut(512).for_each(<[u32]>::sort_unstable);
        assert_eq!(device.download(&sorted).unwrap(), expected, "{len}");
        let mut expected = keys;
        expected.chunks_mut(256).for_each(|part| part.sort_by_key(|key| key >> 3 & 1));
        assert_eq!(device.download(&split).unwrap(), expected, "{len}");
    }
}

pub fn points_are_taken_apart_and_put_together(device: &Device) {
    let apart = device.kernel::<safe_points_to_arrays>(levels()).unwrap();
    let together = device.kernel::<safe_arrays_to_points>(levels()).unwrap();
    for len in LENGTHS {
        let points: Vec<f32> = (0..3 * len).map(|i| i as f32).collect();
        let from = on_device(device, &points);
        let [mut x, mut y, mut z] = [0, 0, 0].map(|_| on_device(device, &vec![f32::NAN; len]));
        device.scope(|scope| scope.launch(&apart, (&from, &mut x, &mut y, &mut z))).unwrap();
        for (which, coordinate) in [&x, &y, &z].into_iter().enumerate() {
            let expected: Vec<f32> = (0..len).map(|i| (3 * i + which) as f32).collect();
            assert_eq!(device.download(&coordinate).unwrap(), expected, "{len}");
        }
        let mut to = on_device(device, &vec![f32::NAN; 3 * len]);
        device.scope(|scope| scope.launch(&together, (&x, &y, &z, &mut to))).unwrap();
        assert_eq!(device.download(&to).unwrap(), points, "{len}");
    }
}

pub fn patterns_of_access_move_what_they_should(device: &Device) {
    let offset = device.kernel::<safe_offset>(levels()).unwrap();
    let stride = device.kernel::<safe_stride>(levels()).unwrap();
    let missing = device.kernel::<safe_missing_lanes>(levels()).unwrap();
    let four = device.kernel::<safe_copy_4_bytes>(levels()).unwrap();
    let eight = device.kernel::<safe_copy_8_bytes>(levels()).unwrap();
    let sixteen = device.kernel::<safe_copy_16_bytes>(levels()).unwrap();
    for len in LENGTHS {
        let x: Vec<f32> = (0..len + 5).map(|i| i as f32).collect();
        let from = on_device(device, &x);
        let [mut a, mut b, mut c] = [0, 0, 0].map(|_| on_device(device, &vec![f32::NAN; len]));
        let (from_4, mut to_4) = (on_device(device, &x[..len]), on_device(device, &vec![f32::NAN; len]));
        let wide: Vec<u128> = (0..len as u128).map(|i| i << 100 | i).collect();
        let long: Vec<u64> = (0..len as u64).map(|i| i << 40 | i).collect();
        let (from_8, from_16) = (on_device(device, &long), on_device(device, &wide));
        let (mut to_8, mut to_16) =
            (on_device(device, &vec![0u64; len]), on_device(device, &vec![0u128; len]));
        device
            .scope(|scope| {
                scope.launch(&offset, (5u32, &from, &mut a))?;
                scope.launch(&stride, (3u32, &from, &mut b))?;
                scope.launch(&missing, (0x5555_5555u32, &from, &mut c))?;
                scope.launch(&four, (&from_4, &mut to_4))?;
                scope.launch(&eight, (&from_8, &mut to_8))?;
                scope.launch(&sixteen, (&from_16, &mut to_16))
            })
            .unwrap();
        assert_eq!(device.download(&to_4).unwrap(), x[..len]);
        for (i, a) in device.download(&a).unwrap().into_iter().enumerate() {
            assert_eq!(a, x[i + 5]);
        }
        for (i, b) in device.download(&b).unwrap().into_iter().enumerate() {
            assert_eq!(b, x[3 * i % x.len()]);
        }
        for (i, c) in device.download(&c).unwrap().into_iter().enumerate() {
            if i % 2 == 0 { assert_eq!(c, x[i]) } else { assert!(c.is_nan()) }
        }
        assert_eq!(device.download(&to_8).unwrap(), long);
        assert_eq!(device.download(&to_16).unwrap(), wide);
    }
}
