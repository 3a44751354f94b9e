//! The worst error of a function over its inputs.

use super::cases::{One, Two};
use super::inputs;
use super::reference::{Big, Reference, ulps};
use std::fmt;

/// The greatest error found, and where.
#[derive(Clone, Debug)]
pub struct Worst {
    pub ulps: f64,
    pub at: Vec<f64>,
    pub got: f64,
    pub inputs: usize,
}

impl fmt::Display for Worst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} ulp at {:?}, which gave {:e}", self.ulps, self.at, self.got)
    }
}

impl Worst {
    fn new() -> Self {
        Worst { ulps: 0.0, at: Vec::new(), got: 0.0, inputs: 0 }
    }

    fn take(&mut self, error: f64, at: &[f64], got: f64) {
        self.inputs += 1;
        // NaN, too, is an error that must be kept.
        if error > self.ulps || error.is_nan() {
            (self.ulps, self.at, self.got) = (error, at.to_vec(), got);
        }
    }
}

/// In units of `f64`'s last place.
pub fn double_ulps(got: f64, want: &Big) -> f64 {
    ulps(got, want, 53, -1074, 1024)
}

/// In units of `f32`'s last place.
pub fn single_ulps(got: f32, want: &Big) -> f64 {
    ulps(f64::from(got), want, 24, -149, 128)
}

/// In units of the last place of `f32` at `want`, or at `least` if that is greater.
pub fn single_error(got: f32, want: f64, least: f64) -> f64 {
    let nearest = want as f32;
    if got.is_nan() || want.is_nan() || nearest.is_infinite() {
        let same = got == nearest || got.is_nan() && want.is_nan();
        // Just below the overflow either side may be meant.
        let at_the_limit = want.is_finite() && want.abs() < 3.4028237e38 && got.abs() == f32::MAX;
        return if same || at_the_limit { 0.0 } else { f64::INFINITY };
    }
    let exponent = (nearest.abs().max(f32::MIN_POSITIVE).max(least as f32).to_bits() >> 23) as i32 - 127;
    ((f64::from(got) - want) / 2.0_f64.powi(exponent - 23)).abs()
}

pub fn one_double(case: &One, count: usize) -> Worst {
    let (mut worst, mut reference) = (Worst::new(), Reference::new());
    for x in inputs::doubles(case, count) {
        let want = (case.reference)(&mut reference, x);
        if want.0.is_inf() {
            continue; // a pole
        }
        // SAFETY: functions of numbers only.
        let got = unsafe { (case.double)(x) };
        worst.take(double_ulps(got, &want), &[x], got);
    }
    worst
}

pub fn one_single(case: &One, count: usize) -> Worst {
    let (mut worst, mut reference) = (Worst::new(), Reference::new());
    for x in inputs::singles(case, count) {
        let want = (case.reference)(&mut reference, x);
        if want.0.is_inf() {
            continue; // a pole
        }
        // SAFETY: functions of numbers only.
        let got = unsafe { (case.single)(x as f32) };
        worst.take(single_ulps(got, &want), &[x], f64::from(got));
    }
    worst
}

pub fn two_double(case: &Two, count: usize) -> Worst {
    let (mut worst, mut reference) = (Worst::new(), Reference::new());
    for (x, y) in inputs::pairs(case, 1000.0, count) {
        // SAFETY: functions of numbers only.
        let got = unsafe { (case.double)(x, y) };
        worst.take(double_ulps(got, &(case.reference)(&mut reference, x, y)), &[x, y], got);
    }
    worst
}

pub fn two_single(case: &Two, count: usize) -> Worst {
    let (mut worst, mut reference) = (Worst::new(), Reference::new());
    for (x, y) in inputs::pairs(case, 120.0, count) {
        let (x, y) = (x as f32, y as f32);
        // SAFETY: functions of numbers only.
        let got = unsafe { (case.single)(x, y) };
        let want = (case.reference)(&mut reference, f64::from(x), f64::from(y));
        worst.take(single_ulps(got, &want), &[f64::from(x), f64::from(y)], f64::from(got));
    }
    worst
}
