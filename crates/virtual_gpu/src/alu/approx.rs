//! The `.approx` and `.full` functions: the correctly rounded value, which lies inside every stated bound.
//!
//! What the PTX manual says about operands outside the domain is exact and kept: special values, flushed subnormals, the
//! range in which `div.approx` gives zero. Where an `f64` function of the C library is rounded to `f32`, a double
//! rounding can at worst choose the other neighbour, far inside the bounds.

use super::float::{NAN_F64, canonical, flush_f32};

/// Computes in `f64` on a flushed operand and rounds to `f32`.
#[inline]
fn via_f64(a: f32, ftz: bool, f: impl Fn(f64) -> f64) -> f32 {
    canonical(flush_f32(f(flush_f32(a, ftz) as f64) as f32, ftz))
}

#[inline]
pub fn rcp(a: f32, ftz: bool) -> f32 {
    canonical(flush_f32(1.0 / flush_f32(a, ftz), ftz))
}

#[inline]
pub fn sqrt(a: f32, ftz: bool) -> f32 {
    canonical(flush_f32(a, ftz).sqrt())
}

#[inline]
pub fn rsqrt(a: f32, ftz: bool) -> f32 {
    via_f64(a, ftz, |a| 1.0 / a.sqrt())
}

/// The angle within a turn. The chip multiplies by 1/2π first, rounded toward zero and flushed, so what lies beyond 2^24
/// turns is at none, and the error grows with the angle as far as the manual's bounds say (2^-14.7 up to 100π).
#[inline]
fn angle(a: f32) -> f64 {
    const TURN: f32 = 0.159_154_94;
    let exact = f64::from(a) * f64::from(TURN);
    let near = exact as f32;
    let beyond = f64::from(near).abs() > exact.abs();
    let turns = flush_f32(if beyond { f32::from_bits(near.to_bits() - 1) } else { near }, true);
    std::f64::consts::TAU * (f64::from(turns) % 1.0)
}

/// `sin.approx.f32`. The manual gives a zero for subnormal operands, flushed or not.
#[inline]
pub fn sin(a: f32, ftz: bool) -> f32 {
    canonical(flush_f32(angle(a).sin() as f32, ftz))
}

#[inline]
pub fn cos(a: f32, ftz: bool) -> f32 {
    canonical(flush_f32(angle(a).cos() as f32, ftz))
}

#[inline]
pub fn lg2(a: f32, ftz: bool) -> f32 {
    via_f64(a, ftz, f64::log2)
}

#[inline]
pub fn ex2(a: f32, ftz: bool) -> f32 {
    via_f64(a, ftz, f64::exp2)
}

#[inline]
pub fn tanh(a: f32) -> f32 {
    via_f64(a, false, f64::tanh)
}

/// `div.approx.f32`: beyond |b| = 2^126 the reciprocal inside is flushed, so the quotient is 0, or NaN for infinite `a`.
#[inline]
pub fn div_approx(a: f32, b: f32, ftz: bool) -> f32 {
    let (a, b) = (flush_f32(a, ftz), flush_f32(b, ftz));
    if b.abs() > f32::from_bits(0x7e80_0000) && b.is_finite() {
        return canonical(a * 0.0f32.copysign(b));
    }
    canonical(flush_f32(a / b, ftz))
}

#[inline]
pub fn div_full(a: f32, b: f32, ftz: bool) -> f32 {
    canonical(flush_f32(flush_f32(a, ftz) / flush_f32(b, ftz), ftz))
}

/// The operand of the `.approx.ftz.f64` functions: only the high word counts, subnormals are zero.
#[inline]
fn high_word(a: f64) -> f64 {
    let bits = a.to_bits() & 0xffff_ffff_0000_0000;
    f64::from_bits(if bits & 0x7ff0_0000_0000_0000 == 0 { bits & 1 << 63 } else { bits })
}

/// The result of the `.approx.ftz.f64` functions: rounded to the high word, subnormals flushed.
#[inline]
fn to_high_word(a: f64) -> f64 {
    if a.is_nan() {
        return f64::from_bits(0x7fff_ffff_0000_0000);
    }
    let bits = a.to_bits();
    let up = if a.is_finite() { (bits >> 31 & 1) << 32 } else { 0 };
    high_word(f64::from_bits((bits & 0xffff_ffff_0000_0000) + up))
}

/// `rcp.approx.ftz.f64`.
#[inline]
pub fn rcp_f64(a: f64) -> f64 {
    to_high_word(1.0 / high_word(a))
}

/// `rsqrt.approx.ftz.f64`.
#[inline]
pub fn rsqrt_f64(a: f64) -> f64 {
    to_high_word(1.0 / high_word(a).sqrt())
}

/// `rsqrt.approx.f64`, without `.ftz`: the whole operand counts.
#[inline]
pub fn rsqrt_full_f64(a: f64) -> f64 {
    let result = 1.0 / a.sqrt();
    if !result.is_nan() {
        result
    } else if a.is_nan() {
        super::float::quiet_f64(a)
    } else {
        NAN_F64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_values() {
        let inf = f32::INFINITY;
        assert_eq!(rcp(-0.0, false), -inf);
        assert_eq!(rcp(f32::from_bits(1), true), inf);
        assert_eq!(rcp(f32::MAX, true), 0.0);
        assert_eq!(rsqrt(0.0, false), inf);
        assert_eq!(rsqrt(-0.0, false), -inf);
        assert_eq!(rsqrt(-1.0, false).to_bits(), 0x7fff_ffff);
        assert_eq!(lg2(0.0, false), -inf);
        assert_eq!(lg2(8.0, false), 3.0);
        assert_eq!(ex2(-inf, false), 0.0);
        assert_eq!(ex2(-140.0, true), 0.0);
        assert_eq!(sin(-1e-40, false).to_bits(), (-0f32).to_bits());
        // What an H200 gave.
        for (a, sine, cosine) in
            [(-151.0, -0.202_137_65, 0.979_357_07), (128.0, 0.721_041_1, -0.692_892_1), (1e10, 0.0, 1.0)]
        {
            assert!((sin(a, false) - sine).abs() < 3e-7 && (cos(a, false) - cosine).abs() < 3e-7, "{a}");
        }
        assert_eq!(sin(inf, false).to_bits(), 0x7fff_ffff);
        assert_eq!(cos(-0.0, false), 1.0);
        assert_eq!(tanh(-inf), -1.0);
    }

    #[test]
    fn quotients_beyond_the_range_of_the_reciprocal() {
        let big = f32::MAX;
        assert_eq!(div_approx(1.0e30, big, false), 0.0);
        assert!(div_approx(f32::INFINITY, big, false).is_nan());
        assert_eq!(div_full(1.0e30, 1.0e38, false), 1.0e30 / 1.0e38);
        assert_eq!(div_approx(6.0, 3.0, false), 2.0);
    }

    #[test]
    fn only_high_words_count() {
        assert_eq!(rcp_f64(f64::from_bits(2.0f64.to_bits() | 0xffff_ffff)), 0.5);
        assert_eq!(rcp_f64(3.0).to_bits() as u32, 0);
        assert!((rcp_f64(3.0) * 3.0 - 1.0).abs() < 1e-6);
        assert_eq!(rcp_f64(5e-324), f64::INFINITY);
        assert_eq!(rsqrt_f64(0.25), 2.0);
    }
}
