//! The `.approx` and `.full` functions as `ptxas` lowers them for an H100: an operation of the special function unit, with
//! the scaling around it that makes subnormal numbers count.

use super::float::{Mode, NAN_F64, canonical, flush_f32, mul_f32, quiet_f64};
use super::special;

/// 2^24, by which subnormal operands are made normal.
const UP: f32 = 16_777_216.0;
/// 2^126, beyond which the unit's reciprocal is subnormal, so zero.
const LARGE: f32 = f32::from_bits(0x7e80_0000);

const FTZ: Mode = Mode { ftz: true, ..Mode::RN };

#[inline]
fn is_subnormal(a: f32) -> bool {
    a.abs() < f32::MIN_POSITIVE
}

#[inline]
pub fn rcp(a: f32, ftz: bool) -> f32 {
    if ftz {
        return special::reciprocal(a);
    }
    let scale = if a.abs() > LARGE {
        0.25
    } else if is_subnormal(a) {
        UP
    } else {
        1.0
    };
    canonical(special::reciprocal(a * scale) * scale)
}

#[inline]
pub fn sqrt(a: f32, ftz: bool) -> f32 {
    if !ftz && is_subnormal(a) { special::root(a * UP) * (1.0 / 4096.0) } else { special::root(a) }
}

#[inline]
pub fn rsqrt(a: f32, ftz: bool) -> f32 {
    if !ftz && is_subnormal(a) {
        special::reciprocal_root(a * UP) * 4096.0
    } else {
        special::reciprocal_root(a)
    }
}

/// The angle in turns: `FMUL.RZ` by 1/2π.
#[inline]
fn turns(a: f32) -> f32 {
    const TURN: f32 = 0.159_154_94;
    let exact = f64::from(a) * f64::from(TURN);
    let near = exact as f32;
    let beyond = f64::from(near).abs() > exact.abs();
    if beyond { f32::from_bits(near.to_bits() - 1) } else { near }
}

/// `sin.approx.f32`, with or without `.ftz`: the unit takes subnormal turns as zero.
#[inline]
pub fn sin(a: f32) -> f32 {
    special::sine(turns(a))
}

#[inline]
pub fn cos(a: f32) -> f32 {
    special::cosine(turns(a))
}

#[inline]
pub fn lg2(a: f32, ftz: bool) -> f32 {
    if !ftz && is_subnormal(a) { canonical(special::log2(a * UP) - 24.0) } else { special::log2(a) }
}

#[inline]
pub fn ex2(a: f32, ftz: bool) -> f32 {
    if !ftz && a < -126.0 {
        let root = special::exp2(a * 0.5);
        return root * root;
    }
    special::exp2(a)
}

#[inline]
pub fn tanh(a: f32) -> f32 {
    special::tanh(a)
}

/// `div.approx.f32`: beyond |b| = 2^126 the reciprocal is zero, so the quotient is, or NaN for infinite `a`.
#[inline]
pub fn div_approx(a: f32, b: f32, ftz: bool) -> f32 {
    if ftz {
        let (a, reciprocal) = (flush_f32(a, true), special::reciprocal(b));
        return mul_f32(a, reciprocal, FTZ);
    }
    let scale = if is_subnormal(b) { UP } else { 1.0 };
    canonical(special::reciprocal(b * scale) * (a * scale))
}

#[inline]
pub fn div_full(a: f32, b: f32, ftz: bool) -> f32 {
    let flush = |a| flush_f32(a, ftz);
    let (mut a, mut b) = (flush(a), flush(b));
    if b.abs() > LARGE {
        (a, b) = (flush(a * 0.25), b * 0.25);
    } else if !ftz && is_subnormal(b) {
        (a, b) = (a * UP, b * UP);
    }
    let reciprocal = special::reciprocal(b);
    if ftz { mul_f32(a, reciprocal, FTZ) } else { canonical(reciprocal * a) }
}

#[inline]
fn high(a: f64) -> u32 {
    (a.to_bits() >> 32) as u32
}

#[inline]
fn of_high(high: u32) -> f64 {
    f64::from_bits(u64::from(high) << 32)
}

/// `rcp.approx.ftz.f64`: only the high words count.
#[inline]
pub fn rcp_f64(a: f64) -> f64 {
    of_high(special::reciprocal_high(high(a)))
}

/// `rsqrt.approx.ftz.f64`: only the high words count.
#[inline]
pub fn rsqrt_f64(a: f64) -> f64 {
    of_high(special::reciprocal_root_high(high(a)))
}

/// `rsqrt.approx.f64`, without `.ftz`: one cubic step from there.
#[inline]
pub fn rsqrt_full_f64(a: f64) -> f64 {
    let refined = |a: f64| {
        let root = rsqrt_f64(a);
        let error = a.mul_add(-(root * root), 1.0);
        error.mul_add(0.375, 0.5).mul_add(root * error, root)
    };
    if a == 0.0 {
        f64::INFINITY.copysign(a)
    } else if a.is_nan() {
        quiet_f64(a)
    } else if a < 0.0 {
        NAN_F64
    } else if a == f64::INFINITY {
        0.0
    } else if a < f64::MIN_POSITIVE {
        refined(a * (1u64 << 54) as f64) * (1u64 << 27) as f64
    } else {
        refined(a)
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
        assert_eq!(sin(-1e-40).to_bits(), (-0f32).to_bits());
        // What an H200 gave.
        for (a, sine, cosine) in
            [(-151.0, -0.202_137_65, 0.979_357_07), (128.0, 0.721_041_1, -0.692_892_1), (1e10, 0.0, 1.0)]
        {
            assert!((sin(a) - sine).abs() < 3e-8 && (cos(a) - cosine).abs() < 3e-8, "{a}");
        }
        assert_eq!(sin(inf).to_bits(), 0x7fff_ffff);
        assert_eq!(cos(-0.0), 1.0);
        assert_eq!(tanh(-inf), -1.0);
    }

    #[test]
    fn quotients_beyond_the_range_of_the_reciprocal() {
        let big = f32::MAX;
        assert_eq!(div_approx(1.0e30, big, false), 0.0);
        assert!(div_approx(f32::INFINITY, big, false).is_nan());
        assert_eq!(div_full(1.0e30, 1.0e38, false), 1.0e-8);
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
