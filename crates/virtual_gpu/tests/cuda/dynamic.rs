use virtual_gpu::Launch;

use crate::device::{Device, Plain};
use crate::numbers;

fn device() -> Device {
    crate::device(include_bytes!("dynamic.ptx.gz"))
}

fn values(seed: u64, count: usize) -> Vec<i32> {
    numbers(seed).take(count).map(|n| (n % 100) as i32).collect()
}

#[test]
fn tiles_of_a_warp_shuffle_side_by_side() {
    let device = device();
    let values = values(1, 96);
    for width in [2usize, 4, 8, 16, 32] {
        let out = device.zeros::<i32>(96);
        let args = [device.upload(&values).arg(), out.arg(), (width as u32).bytes()];
        device.launch("tile_sums", Launch::new(1, 96), &args);
        let want: Vec<i32> =
            values.chunks(width).flat_map(|tile| vec![tile.iter().sum::<i32>(); width]).collect();
        assert_eq!(device.download::<i32>(out), want, "tiles of {width}");
    }
}

#[test]
fn tiles_that_go_different_ways_meet_again() {
    let device = device();
    let values = values(2, 64);
    let out = device.zeros::<u32>(64);
    device.launch("tile_votes", Launch::new(1, 64), &[device.upload(&values).arg(), out.arg()]);
    let want: Vec<u32> = (0..64usize)
        .map(|i| {
            let (warp, tile) = (i / 32 * 32, i / 8 * 8);
            let among = |range: std::ops::Range<usize>, yes: &dyn Fn(i32) -> bool| {
                range.filter(|&k| yes(values[k])).fold(0u32, |mask, k| mask | 1 << (k % 32))
            };
            let odd = values[i] & 1 != 0;
            let same = if odd { among(tile..tile + 8, &|v| v == values[i]) } else { 0 };
            same.wrapping_add(among(warp..warp + 32, &|v| v > 50).count_ones() << 24)
        })
        .collect();
    assert_eq!(device.download::<u32>(out), want);
}

#[test]
fn virtual_calls() {
    let device = device();
    let out = device.zeros::<f32>(64);
    device.launch("areas", Launch::new(1, 64), &[out.arg()]);
    let want: Vec<f32> =
        (0..64).map(|t| t as f32).map(|t| if t % 2.0 == 1.0 { t * t } else { 3.0 * t }).collect();
    assert_eq!(device.download::<f32>(out), want);
}

#[test]
fn arrays_from_the_stack() {
    let device = device();
    for length in [1usize, 9, 40] {
        let values = values(3, length);
        let out = device.zeros::<i32>(64);
        let args = [device.upload(&values).arg(), out.arg(), (length as i32).bytes()];
        device.launch("from_the_stack", Launch::new(1, 64), &args);
        let want: Vec<i32> = (0..64)
            .map(|t| {
                (1..4)
                    .flat_map(|round| (0..length).map(move |i| (round, i * 7 % length)))
                    .fold(0, |sum, (round, at)| sum + round * values[(at + round as usize) % length] * t)
            })
            .collect();
        assert_eq!(device.download::<i32>(out), want, "{length} elements");
    }
}

#[test]
fn a_runaway_alloca_is_a_stack_overflow() {
    let device = device();
    let out = device.zeros::<i32>(64);
    let args = [device.zeros::<i32>(1).arg(), out.arg(), (1i32 << 29).bytes()];
    let error = device.try_launch("from_the_stack", Launch::new(1, 32), &args).unwrap_err();
    assert!(error.to_string().contains("stack overflow"), "{error}");
}

#[test]
fn arithmetic_of_128_bits() {
    let device = device();
    let values: Vec<u64> = numbers(4).take(65).collect();
    let out = device.zeros::<u64>(128);
    device.launch("wide", Launch::new(1, 64), &[device.upload(&values).arg(), out.arg()]);
    let want: Vec<u64> = (0..64usize)
        .flat_map(|t| {
            let a = u128::from(values[t]) * u128::from(values[t + 1]);
            let b = (a / u128::from(values[t] % 1000 + 1)).wrapping_add(a >> (t % 100));
            let b = b % (1_000_000_007 * 998_244_353);
            [b as u64, (b >> 64) as u64]
        })
        .collect();
    assert_eq!(device.download::<u64>(out), want);
}

#[test]
fn tiles_of_several_warps() {
    let device = device();
    let values = values(6, 256);
    let out = device.zeros::<i32>(256);
    device.launch("wide_tiles", Launch::new(1, 256), &[device.upload(&values).arg(), out.arg()]);
    let want: Vec<i32> = values
        .chunks(128)
        .flat_map(|tile| [2 * tile.iter().sum::<i32>() + tile.contains(&99) as i32; 128])
        .collect();
    assert_eq!(device.download::<i32>(out), want);
}
