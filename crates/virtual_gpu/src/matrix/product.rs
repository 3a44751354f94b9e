//! D = A·B + C.
//!
//! PTX leaves the order and rounding inside a matrix product open. Here floating-point products are exact, their sum and
//! C are added with the 53 bits of `f64` in the order of k, and the result is rounded once to D's format; small integers
//! are exact, as on hardware. Hardware keeps fewer bits and truncates, so its last bits differ. `f64` is a chain of
//! fused multiply-adds in the order of k, each rounded as the instruction says, as on an H200.

use super::element::Accumulator;
use crate::alu::Round;
use crate::alu::float;
use crate::alu::half::{self, F16};

/// The sum of `a·b` over k plus `c`, before rounding. The product of two 24-bit values is exact in 53 bits.
pub(crate) fn dot(a: &[f32], b: &[f32], c: f64) -> f64 {
    a.iter().zip(b).fold(c, |sum, (&a, &b)| sum + f64::from(a) * f64::from(b))
}

/// Rounds a sum once, to the bits of D's format.
pub(crate) fn round(sum: f64, format: Accumulator) -> u32 {
    match format {
        Accumulator::F16 => half::from_f64::<F16>(sum).into(),
        _ => float::canonical(sum as f32).to_bits(),
    }
}

/// All bits of an element of D, or none.
pub(crate) fn all_if(all: bool, format: Accumulator) -> u32 {
    match (all, format) {
        (false, _) => 0,
        (true, Accumulator::F16) => 0xFFFF,
        (true, _) => u32::MAX,
    }
}

/// The value of C's bits.
pub(crate) fn widen(bits: u32, format: Accumulator) -> f64 {
    match format {
        Accumulator::F16 => half::to_f64::<F16>(bits as u16),
        _ => f64::from(f32::from_bits(bits)),
    }
}

/// Integers wrap, or with `.satfinite` saturate to `s32`.
pub(crate) fn dot_integer(a: &[i32], b: &[i32], c: i32, saturate: bool) -> i32 {
    let sum = a.iter().zip(b).fold(i64::from(c), |sum, (&a, &b)| sum + i64::from(a) * i64::from(b));
    if saturate { sum.clamp(i32::MIN.into(), i32::MAX.into()) as i32 } else { sum as i32 }
}

/// The number of bits set in `a ^ b` or `a & b`, plus `c`.
pub(crate) fn dot_bits(a: &[u32], b: &[u32], c: i32, and: bool) -> i32 {
    let ones = |(&a, &b): (&u32, &u32)| if and { a & b } else { a ^ b }.count_ones() as i32;
    a.iter().zip(b).map(ones).fold(c, i32::wrapping_add)
}

/// Fused multiply-adds in the order of k.
pub(crate) fn dot_double(a: &[f64], b: &[f64], c: f64, round: Round) -> f64 {
    a.iter().zip(b).fold(c, |sum, (&a, &b)| float::fma_f64(a, b, sum, round))
}
