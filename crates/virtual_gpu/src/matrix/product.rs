//! D = A·B + C.
//!
//! Floating-point products are summed as the tensor cores of Hopper do: all products and C are aligned to the largest
//! exponent among them, cut to the bits that a [`TensorCore`] keeps after its point, and added exactly; the sum is cut to
//! `f32` or rounded to nearest `f16`. The exponent of a product is the sum of its factors', so its significand may reach 4,
//! and that of a subnormal factor is the format's smallest. (Fasi et al., "Numerical behavior of NVIDIA tensor cores",
//! PeerJ Computer Science 2021, found this of older ones, which keep fewer bits.) `f64` is a chain of fused multiply-adds
//! in the order of k, each rounded as the instruction says, as on an H200.

use super::element::Accumulator;
use crate::alu::Round;
use crate::alu::float;
use crate::alu::half::{self, F16, Half};

/// How an instruction's floating-point products are added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TensorCore {
    /// `f16`, `bf16` and `tf32`: 25 bits after the point.
    Wide,
    /// `wgmma` of 8-bit floats: 13 bits after the point, in results of `f32` too.
    Narrow,
    /// `mma` of 8-bit floats, which Hopper has not: two products of `f16`, of the first and of the second of each two
    /// `run`s along k, then one addition of C.
    Converted { run: usize },
}

impl TensorCore {
    /// Bits after the point of the largest exponent.
    #[inline(always)]
    pub fn bits(self) -> i32 {
        if self == Self::Narrow { 13 } else { 25 }
    }

    /// Bits after the point of a result of `f32`.
    #[inline(always)]
    fn fraction(self) -> i32 {
        if self == Self::Narrow { 13 } else { 23 }
    }

    /// The bits of an `f32` that are kept.
    #[inline(always)]
    pub fn kept(self) -> u32 {
        !0 << (23 - self.fraction())
    }

    /// The last bit that is kept of numbers whose largest exponent this is. If there is no number all are zero; what is
    /// not finite remains so.
    #[inline(always)]
    pub fn unit(self, largest: i16) -> f64 {
        let finite = (NONE / 2..=INFINITE / 4).contains(&largest);
        if finite { power(largest - self.bits() as i16) } else { 1.0 }
    }

    /// Rounds a sum: to nearest `f16`, or cut to `f32`, which is infinite from 2^128 on. A zero is positive.
    pub fn round(self, sum: f64, format: Accumulator) -> u32 {
        if format == Accumulator::F16 {
            return round(if sum.abs() <= power(-25) { 0.0 } else { sum }, format);
        }
        let smallest = power(smallest(Accumulator::F32));
        if sum.abs() < smallest {
            let unit = smallest * power(-self.fraction() as i16);
            return round((sum / unit).trunc() * unit + 0.0, format);
        }
        let kept = u64::from(self.kept()) << 29;
        round(f64::from_bits(sum.to_bits() & (kept | !0 << 52)), format)
    }
}

/// 2^exponent.
#[inline(always)]
fn power(exponent: i16) -> f64 {
    f64::from_bits(((1023 + i64::from(exponent)) as u64) << 52)
}

/// The exponent of zero.
pub(crate) const NONE: i16 = -8000;

/// The exponent of an element that is not stored: no product with it has an exponent of a number, nor one that overflows.
pub(crate) const ABSENT: i16 = -22_000;

/// The exponent of infinity and NaN; so large that a product with zero has none of a number either.
pub(crate) const INFINITE: i16 = 16000;

/// The exponent of a number in a format whose smallest normal number has that exponent.
#[inline(always)]
pub(crate) fn exponent(value: f32, smallest: i16) -> i16 {
    let magnitude = value.to_bits() & 0x7fff_ffff;
    let exponent = ((magnitude >> 23) as i16 - 127).max(smallest);
    let exponent = if magnitude >= f32::INFINITY.to_bits() { INFINITE } else { exponent };
    if magnitude == 0 { NONE } else { exponent }
}

/// The exponent of the smallest normal number of C's format.
#[inline(always)]
pub(crate) fn smallest(format: Accumulator) -> i16 {
    if format == Accumulator::F16 { -14 } else { -126 }
}

/// Rounds to nearest `f16` what was rounded to odd before. A zero is positive.
#[inline(always)]
pub(crate) fn round_odd_to_f16(sum: f32) -> u32 {
    // Adding and subtracting 1.5 * 2^k rounds to the unit 2^(k-23), as in `half::from_f64`.
    let clamped = sum.abs().max(f32::from_bits((127 - 14) << 23)).min(f32::from_bits((127 + 17) << 23));
    let magic = f32::from_bits(((clamped.to_bits() >> 23) + (23 - 10)) << 23 | 1 << 22);
    let rounded = F16::exact_from_f32((sum.abs() + magic) - magic);
    let sign = if rounded == 0 { 0 } else { sum.to_bits() >> 16 & 0x8000 };
    u32::from(rounded) | sign
}

/// Rounds a sum to nearest, to the bits of D's format.
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
pub(crate) fn widen(bits: u32, format: Accumulator) -> f32 {
    match format {
        Accumulator::F16 => F16::to_f32(bits as u16),
        _ => f32::from_bits(bits),
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
