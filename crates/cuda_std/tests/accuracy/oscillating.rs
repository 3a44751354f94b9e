//! Bessel functions, whose error is relative up to 8 and absolute beyond; and inverse functions, whose result is put
//! back into the function.

use super::COUNT;
use super::inputs::Random;
use super::measure::double_ulps;
use super::reference::{Big, Reference, big, value};
use cuda_std::intrinsics as gpu;

type Exact = fn(&mut Reference, &Big) -> Big;

/// The worst error in ulp on (0, 8], and in units of 2^-52 on (8, 32].
fn bessel(name: &str, function: unsafe fn(f64) -> f64, exact: Exact, ulps_below_8: f64) {
    let (mut random, mut reference) = (Random::new(name), Reference::new());
    let (mut below, mut beyond) = ((0.0, 0.0), (0.0, 0.0));
    for i in 0..COUNT {
        // Half of the inputs are tiny to 8, half are 8 to 32, where the series still serves.
        let x = match i % 4 {
            0 => 8.0 * (random.unit() * -40.0).exp2(),
            1 => 8.0 * random.unit() + 1e-9,
            _ => 8.0 + 24.0 * random.unit(),
        };
        // SAFETY: a function of numbers only.
        let got = unsafe { function(x) };
        let want = exact(&mut reference, &big(x));
        if x <= 8.0 {
            let error = double_ulps(got, &want);
            if error > below.0 {
                below = (error, x);
            }
        } else {
            let error = value(&(big(got) - want).abs()) * 2.0_f64.powi(52);
            if error > beyond.0 {
                beyond = (error, x);
            }
        }
    }
    println!("{name}: {:.3} ulp at {:e}; beyond 8 {:.3}·2^-52 at {:e}", below.0, below.1, beyond.0, beyond.1);
    assert!(below.0 <= ulps_below_8, "{name}: {:.3} ulp at {:e}", below.0, below.1);
    assert!(beyond.0 <= 1.0, "{name}: {:.3}·2^-52 at {:e}", beyond.0, beyond.1);
}

#[test]
fn bessel_j0() {
    bessel("j0", gpu::j0, |r, x| r.bessel_j(0, x), 8.0);
}

#[test]
fn bessel_j1() {
    bessel("j1", gpu::j1, |r, x| r.bessel_j(1, x), 8.0);
}

#[test]
fn bessel_y0() {
    bessel("y0", gpu::y0, |r, x| r.bessel_y(0, x), 32.0);
}

#[test]
fn bessel_y1() {
    bessel("y1", gpu::y1, |r, x| r.bessel_y(1, x), 32.0);
}

/// How far x = inverse(y) lies from the exact one, in ulp: (f(x) - y) / f'(x).
fn inverse(
    name: &str,
    function: unsafe fn(f64) -> f64,
    inputs: impl Fn(&mut Random) -> f64,
    step: impl Fn(&mut Reference, &Big, &Big) -> Big,
) {
    let (mut random, mut reference) = (Random::new(name), Reference::new());
    let mut worst = (0.0, 0.0);
    for _ in 0..COUNT {
        let y = inputs(&mut random);
        // SAFETY: a function of numbers only.
        let x = unsafe { function(y) };
        let exact = big(x) - step(&mut reference, &big(x), &big(y));
        let error = double_ulps(x, &exact);
        if error > worst.0 {
            worst = (error, y);
        }
    }
    println!("{name}: {:.3} ulp at {:e}", worst.0, worst.1);
    assert!(worst.0 <= 2.0, "{name}: {:.3} ulp at {:e}", worst.0, worst.1);
}

/// The derivative of erf.
fn slope(r: &mut Reference, x: &Big) -> Big {
    let root = r.pi().sqrt();
    r.exp(&x.square().neg()) * 2.0 / root
}

/// 0 to 1, dense at both ends.
fn probability(random: &mut Random) -> f64 {
    let tail = (random.unit() * -50.0).exp2();
    if random.next() & 1 == 0 { tail } else { 1.0 - tail }
}

#[test]
fn erfinv() {
    inverse(
        "erfinv",
        gpu::erfinv,
        |random| probability(random).min(1.0_f64.next_down()),
        |r, x, y| {
            // 1 - y is exact where erf(x) is near one.
            (big(1.0) - y.clone() - r.erfc(x)) / slope(r, x)
        },
    );
}

#[test]
fn erfcinv() {
    let inputs = |random: &mut Random| {
        let y = 2.0 * probability(random);
        // Far tails too.
        if random.next() & 3 == 0 {
            (random.unit() * -1020.0).exp2()
        } else {
            y.clamp(1e-300, 2.0_f64.next_down())
        }
    };
    inverse("erfcinv", gpu::erfcinv, inputs, |r, x, y| (r.erfc(x) - y.clone()).neg() / slope(r, x));
}

#[test]
fn normcdfinv() {
    let inputs = |random: &mut Random| probability(random).min(1.0_f64.next_down());
    inverse("normcdfinv", gpu::normcdfinv, inputs, |r, x, p| {
        // The density is e^(-x²/2) / √(2π).
        let (root, half) = ((r.pi() * 2.0).sqrt(), x.square() / -2.0);
        (r.norm_cdf(x) - p.clone()) * root / r.exp(&half)
    });
}
