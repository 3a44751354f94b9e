use virtual_gpu::Launch;

use crate::device::{Device, Plain};
use crate::numbers;

fn device() -> Device {
    crate::device(include_bytes!("together.ptx.gz"))
}

#[test]
fn bitonic_sort() {
    let device = device();
    let mut values: Vec<i32> = numbers(1).take(4 * 256).map(|n| n as i32).collect();
    let array = device.upload(&values);
    device.launch("bitonic", Launch::new(4, 256).dynamic_shared(1024), &[array.arg()]);
    values.chunks_exact_mut(256).for_each(<[i32]>::sort_unstable);
    assert_eq!(device.download::<i32>(array), values);
}

#[test]
fn prefix_sum() {
    let device = device();
    let values: Vec<u32> = numbers(2).take(1024).map(|n| n as u32).collect();
    let out = device.zeros::<u32>(1024);
    device.launch("scan", Launch::new(1, 1024), &[device.upload(&values).arg(), out.arg()]);
    let want: Vec<u32> = values
        .iter()
        .scan(0u32, |sum, &x| {
            *sum = sum.wrapping_add(x);
            Some(*sum)
        })
        .collect();
    assert_eq!(device.download::<u32>(out), want);
}

#[test]
fn aggregated_filter() {
    let device = device();
    let values: Vec<u32> = numbers(3).take(512).map(|n| n as u32).collect();
    let (out, count) = (device.zeros::<u32>(512), device.zeros::<u32>(1));
    device.launch("filter", Launch::new(4, 128), &[device.upload(&values).arg(), out.arg(), count.arg()]);
    let mut want: Vec<u32> = values.into_iter().filter(|v| v % 2 == 1).collect();
    let count = device.download::<u32>(count)[0] as usize;
    let mut got = device.download::<u32>(out)[..count].to_vec();
    want.sort_unstable();
    got.sort_unstable();
    assert_eq!(got, want);
}

#[test]
fn histogram() {
    let device = device();
    let bytes: Vec<u8> = numbers(4).take(5000).map(|n| (n as u8) & (n >> 8) as u8).collect();
    let bins = device.zeros::<u32>(256);
    let args = [device.upload(&bytes).arg(), 5000u32.bytes(), bins.arg()];
    device.launch("histogram", Launch::new(3, 96), &args);
    let mut want = vec![0u32; 256];
    bytes.iter().for_each(|&b| want[b as usize] += 1);
    assert_eq!(device.download::<u32>(bins), want);
}

#[test]
fn lock_inside_a_warp() {
    let device = device();
    let (lock, total) = (device.zeros::<i32>(1), device.upload(&[1i32]));
    device.launch("spin_lock", Launch::new(2, 64), &[lock.arg(), total.arg()]);
    let want = (0..128).fold(1, |total, _| total * 3 % 1_000_003 + 1);
    assert_eq!(device.download::<i32>(total), [want]);
    assert_eq!(device.download::<i32>(lock), [0]);
}

#[test]
fn barrier_over_the_grid() {
    let device = device();
    let (blocks, rounds) = (24usize, 5);
    let (arrived, cells) = (device.zeros::<u32>(1), device.zeros::<u32>(blocks * (rounds + 1)));
    let launch = Launch::new(blocks as u32, 64).cooperative();
    device.launch("grid_barrier", launch, &[arrived.arg(), cells.arg(), (rounds as i32).bytes()]);
    let cells = device.download::<u32>(cells);
    assert_eq!(cells[rounds * blocks..], vec![15; blocks]);
}

#[test]
fn last_block_adds_up() {
    let device = device();
    let blocks = 10;
    let values: Vec<u32> = numbers(5).take(blocks * 32).map(|n| n as u32).collect();
    let (partial, total) = (device.zeros::<u32>(blocks), device.zeros::<u32>(1));
    let args = [device.upload(&values).arg(), partial.arg(), total.arg()];
    // Twice: the counter wraps back to zero by itself.
    for _ in 0..2 {
        device.launch("last_block", Launch::new(blocks as u32, 32), &args);
        let want = values.chunks(32).fold(0u32, |all, block| {
            let sum = block.iter().fold(0u32, |s, &x| s.wrapping_add(x));
            all.wrapping_mul(31).wrapping_add(sum)
        });
        assert_eq!(device.download::<u32>(total), [want]);
    }
}

#[test]
fn votes_and_matches() {
    let device = device();
    let values: Vec<u32> = numbers(6).take(64).map(|n| n as u32).collect();
    let out = device.zeros::<u32>(64 * 8);
    device.launch("votes", Launch::new(1, 64), &[device.upload(&values).arg(), out.arg()]);
    let got = device.download::<u32>(out);
    for t in 0..64 {
        let warp = &values[t & 32..][..32];
        let (lane, x) = (t & 31, values[t]);
        let mask = |f: &dyn Fn(u32) -> bool| (0..32).fold(0u32, |m, i| m | (f(warp[i]) as u32) << i);
        let any = warp.iter().any(|&y| y > 0xfff0_0000);
        let same_top = warp.iter().all(|&y| y >> 31 == x >> 31);
        let down = if lane % 8 + 3 < 8 { warp[lane + 3] } else { x };
        let want = [
            mask(&|y| y & 4 != 0),
            any as u32 | (warp.iter().all(|&y| y != 0) as u32) << 1,
            mask(&|y| y & 3 == x & 3),
            if same_top { u32::MAX.wrapping_add(1) } else { 0 },
            *warp.iter().max().unwrap(),
            warp.iter().fold(0, |s, y| s ^ y),
            warp[lane ^ 5].wrapping_add(down),
            values.iter().filter(|&y| y & 1 == 1).count() as u32
                + 1000 * values.contains(&12345) as u32
                + 2000 * !values.contains(&12345) as u32,
        ];
        assert_eq!(got[t * 8..][..8], want, "thread {t}");
    }
}

#[test]
fn atomics_on_floats() {
    let device = device();
    let values: Vec<f32> = numbers(7).take(128).map(|n| (n as i32 % 4096) as f32 / 8.0).collect();
    let (sum, direct, largest) = (device.zeros::<f64>(1), device.zeros::<f32>(1), device.zeros::<f32>(1));
    let args = [device.upload(&values).arg(), sum.arg(), direct.arg(), largest.arg()];
    device.launch("float_atomics", Launch::new(1, 128), &args);
    let want: f64 = values.iter().map(|&x| x as f64).sum();
    assert_eq!(device.download::<f64>(sum), [want]);
    assert_eq!(device.download::<f32>(direct), [want as f32]);
    assert_eq!(device.download::<f32>(largest), [values.iter().fold(0f32, |m, x| m.max(x.abs()))]);
}
