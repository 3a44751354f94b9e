use half::{bf16, f16};
use virtual_gpu::Launch;

use crate::numbers;

fn run(kernel: &str, a: &[u32], b: &[u32], c: &[u32]) -> Vec<u32> {
    let device = crate::device(include_bytes!("half.ptx.gz"));
    let out = device.zeros::<u32>(a.len() * 8);
    let args = [device.upload(a), device.upload(b), device.upload(c), out].map(|x| x.arg());
    device.launch(kernel, Launch::new(1, a.len() as u32), &args);
    device.download(out)
}

/// Checks one 16-bit format. Its arithmetic is done exactly in `f64`, which 8-bit inputs allow, and rounded from there.
fn check(kernel: &str, narrow: fn(f64) -> u16, wide: fn(u16) -> f64) {
    let draw = |seed| -> Vec<u32> {
        let one = |n: u64| narrow(n as i8 as f64 / 8.0) as u32;
        numbers(seed).take(64).map(|n| one(n) | one(n >> 13) << 16).collect()
    };
    let (a, b, c) = (draw(1), draw(2), draw(3));
    let got = run(kernel, &a, &b, &c);
    for t in 0..64 {
        let halves = |i: usize| {
            let (x, y, z) = (
                wide((a[t] >> (16 * i)) as u16),
                wide((b[t] >> (16 * i)) as u16),
                wide((c[t] >> (16 * i)) as u16),
            );
            let scaled = if i == 0 { x * 3.0 } else { y };
            [x + y, x * y, x * y + z, (x * y + z).max(0.0), x.min(y), x.max(y), scaled, x + y.abs()]
        };
        let (low, high) = (halves(0), halves(1));
        for i in 0..8 {
            let want = narrow(low[i]) as u32 | (narrow(high[i]) as u32) << 16;
            assert_eq!(got[t * 8 + i], want, "{kernel} result {i} of thread {t}");
        }
    }
}

#[test]
fn f16_pairs() {
    check("halves", |x| f16::from_f32(x as f32).to_bits(), |b| f16::from_bits(b).to_f64());
}

#[test]
fn bf16_pairs() {
    check("brains", |x| bf16::from_f32(x as f32).to_bits(), |b| bf16::from_bits(b).to_f64());
}
