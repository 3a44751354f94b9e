//! The `.approx` and `.full` functions as `ptxas` lowers them for an H100: an operation of the special function unit, with
//! the scaling around it that makes subnormal numbers count.

use super::float::{NAN_F64, TINY, canonical, flush_f32, quiet_f64};
use super::special;
use std::hint::select_unpredictable as select;

/// 2^24, by which subnormal operands are made normal.
const UP: f32 = 16_777_216.0;
/// 2^126, beyond which the unit's reciprocal is subnormal, so zero.
const LARGE: f32 = f32::from_bits(0x7e80_0000);

#[inline(always)]
fn is_subnormal(a: f32) -> bool {
    a.abs() < f32::MIN_POSITIVE
}

#[inline(always)]
pub fn rcp(a: f32, ftz: bool) -> f32 {
    if ftz {
        return special::reciprocal(a);
    }
    let scale = select(a.abs() > LARGE, 0.25, select(is_subnormal(a), UP, 1.0));
    canonical(special::reciprocal(a * scale) * scale)
}

#[inline(always)]
pub fn sqrt(a: f32, ftz: bool) -> f32 {
    if ftz {
        return special::root(a);
    }
    let (up, down) = select(is_subnormal(a), (UP, 1.0 / 4096.0), (1.0, 1.0));
    special::root(a * up) * down
}

#[inline(always)]
pub fn rsqrt(a: f32, ftz: bool) -> f32 {
    if ftz {
        return special::reciprocal_root(a);
    }
    let (up, down) = select(is_subnormal(a), (UP, 4096.0), (1.0, 1.0));
    special::reciprocal_root(a * up) * down
}

/// The angle in turns: `FMUL.RZ` by 1/2π.
#[inline(always)]
fn turns(a: f32) -> f32 {
    const TURN: f32 = 0.159_154_94;
    let exact = f64::from(a) * f64::from(TURN);
    let near = exact as f32;
    let beyond = f64::from(near).abs() > exact.abs();
    f32::from_bits(near.to_bits() - u32::from(beyond))
}

/// `sin.approx.f32`, with or without `.ftz`: the unit takes subnormal turns as zero.
#[inline(always)]
pub fn sin(a: f32) -> f32 {
    special::sine(turns(a))
}

#[inline(always)]
pub fn cos(a: f32) -> f32 {
    special::cosine(turns(a))
}

#[inline(always)]
pub fn lg2(a: f32, ftz: bool) -> f32 {
    if ftz {
        return special::log2(a);
    }
    let (up, down) = select(is_subnormal(a), (UP, 24.0), (1.0, 0.0));
    canonical(special::log2(a * up) - down)
}

#[inline(always)]
pub fn ex2(a: f32, ftz: bool) -> f32 {
    let halved = !ftz && a < -126.0;
    let power = special::exp2(select(halved, a * 0.5, a));
    select(halved, power * power, power)
}

#[inline]
pub fn tanh(a: f32) -> f32 {
    special::tanh(a)
}

/// `div.approx.f32`: beyond |b| = 2^126 the reciprocal is zero, so the quotient is, or NaN for infinite `a`.
#[inline(always)]
pub fn div_approx(a: f32, b: f32, ftz: bool) -> f32 {
    if ftz {
        return mul_flushed(flush_f32(a, true), special::reciprocal(b));
    }
    let scale = select(is_subnormal(b), UP, 1.0);
    canonical(special::reciprocal(b * scale) * (a * scale))
}

#[inline(always)]
pub fn div_full(a: f32, b: f32, ftz: bool) -> f32 {
    let flush = |a| flush_f32(a, ftz);
    let (a, b) = (flush(a), flush(b));
    let scale = select(b.abs() > LARGE, 0.25, select(!ftz && is_subnormal(b), UP, 1.0));
    let (a, b) = (flush(a * scale), b * scale);
    let reciprocal = special::reciprocal(b);
    if ftz { mul_flushed(a, reciprocal) } else { canonical(reciprocal * a) }
}

/// `mul.ftz.f32` of factors that are not subnormal.
#[inline(always)]
fn mul_flushed(a: f32, b: f32) -> f32 {
    let product = canonical(a * b);
    let tiny = (f64::from(a) * f64::from(b)).abs() < TINY;
    f32::from_bits(select(tiny, product.to_bits() & 0x8000_0000, product.to_bits()))
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
