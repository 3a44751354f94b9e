//! The `f32` functions against their own `f64` forms, which other tests check.

use super::COUNT;
use super::error::single_error;
use super::inputs::Random;
use cuda_std::intrinsics as gpu;

/// The worst error, in units of the last place of the result or of `least`, whichever is greater.
fn check(
    name: &str,
    single: unsafe fn(f32) -> f32,
    double: unsafe fn(f64) -> f64,
    inputs: impl Fn(&mut Random) -> f32,
    least: f64,
    bound: f64,
) {
    let mut random = Random::new(name);
    let mut worst = (0.0, 0.0);
    for _ in 0..COUNT {
        let x = inputs(&mut random);
        // SAFETY: functions of numbers only.
        let (got, want) = unsafe { (single(x), double(f64::from(x))) };
        let error = single_error(got, want, least);
        if error > worst.0 || error.is_nan() {
            worst = (error, x);
        }
    }
    println!("{name}: {:.3} ulp at {:e}", worst.0, worst.1);
    assert!(worst.0 <= bound, "{name}: {:.3} ulp at {:e}, bound {bound}", worst.0, worst.1);
}

/// Of any size below one, and near one.
fn probability(random: &mut Random) -> f32 {
    let tail = (random.unit() * -140.0).exp2() as f32;
    match random.next() & 3 {
        0 => tail,
        1 => 1.0 - tail.max(f32::EPSILON / 2.0),
        _ => (random.unit() as f32).min(1.0_f32.next_down()),
    }
}

#[test]
fn erfinvf() {
    let inputs = |random: &mut Random| {
        let p = probability(random);
        if random.next() & 1 == 0 { p } else { -p }
    };
    check("erfinvf", gpu::erfinvf, gpu::erfinv, inputs, 0.0, 2.5);
}

#[test]
fn erfcinvf() {
    let inputs = |random: &mut Random| {
        let p = probability(random);
        if random.next() & 1 == 0 { p } else { 2.0 * p }
    };
    check("erfcinvf", gpu::erfcinvf, gpu::erfcinv, inputs, 0.0, 4.0);
}

#[test]
fn normcdfinvf() {
    check("normcdfinvf", gpu::normcdfinvf, gpu::normcdfinv, probability, 0.0, 4.0);
}

#[test]
fn lgammaf_below_zero() {
    // Relative to one near the zeros of the result.
    let inputs = |random: &mut Random| {
        let size = match random.next() & 3 {
            0 => (random.unit() * -120.0).exp2(),
            1 => (random.unit() * 22.0).exp2(),
            _ => 12.0 * random.unit(),
        };
        -size as f32
    };
    check("lgammaf below 0", gpu::lgammaf, gpu::lgamma, inputs, 1.0, 3.5);
}
