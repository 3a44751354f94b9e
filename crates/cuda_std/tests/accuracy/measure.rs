//! The worst error of a function over its inputs.

use super::cases::{One, Two};
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
    pub fn new() -> Self {
        Worst { ulps: 0.0, at: Vec::new(), got: 0.0, inputs: 0 }
    }

    pub fn take(&mut self, error: f64, at: &[f64], got: f64) {
        self.inputs += 1;
        // NaN is an error too, and must be kept.
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

pub fn one_double(case: &One, inputs: &[f64]) -> Worst {
    let (mut worst, mut reference) = (Worst::new(), Reference::new());
    for &x in inputs {
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

pub fn one_single(case: &One, inputs: &[f64]) -> Worst {
    let (mut worst, mut reference) = (Worst::new(), Reference::new());
    for &x in inputs {
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

pub fn two_double(case: &Two, inputs: &[(f64, f64)]) -> Worst {
    let (mut worst, mut reference) = (Worst::new(), Reference::new());
    for &(x, y) in inputs {
        // SAFETY: functions of numbers only.
        let got = unsafe { (case.double)(x, y) };
        worst.take(double_ulps(got, &(case.reference)(&mut reference, x, y)), &[x, y], got);
    }
    worst
}

/// Of pairs that are `f32`.
pub fn two_single(case: &Two, inputs: &[(f64, f64)]) -> Worst {
    let (mut worst, mut reference) = (Worst::new(), Reference::new());
    for &(x, y) in inputs {
        // SAFETY: functions of numbers only.
        let got = unsafe { (case.single)(x as f32, y as f32) };
        worst.take(single_ulps(got, &(case.reference)(&mut reference, x, y)), &[x, y], f64::from(got));
    }
    worst
}
