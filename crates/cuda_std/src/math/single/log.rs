//! Logarithms: x = (1 + f)·2^k with 1 + f in [¾, 1½), or [√½, √2).

use crate::math::dd::{Dd, quick_two_sum, two_product, two_sum};
use crate::math::poly32;
use crate::math::real::Real;

/// The least 1 + f: the float above ¾. With it f of 1 + x is exact, also where that is rounded to 1½.
const LEAST: f32 = 0.75000006;

/// f and k of x > 0, with 1 + f from `least` on.
#[inline(always)]
fn split(x: f32, least: f32) -> (f32, f32) {
    let subnormal = x < f32::MIN_POSITIVE;
    let x = f32::select(subnormal, x * 33554432.0, x);
    let k = x.to_bits().wrapping_sub(least.to_bits()) as i32 >> 23;
    let f = f32::from_bits(x.to_bits().wrapping_sub((k as u32) << 23)) - 1.0;
    (f, k as f32 - f32::select(subnormal, 25.0, 0.0))
}

/// ln(1 + f) for f in about [-¼, ½].
#[inline(always)]
pub(crate) fn ln_near(f: f32) -> f32 {
    (f * f).fma(f.fma(poly32::ln_tail(f), -0.5), f)
}

/// `inside`, unless x is zero, negative, infinite or NaN.
#[inline(always)]
fn domain(x: f32, inside: f32) -> f32 {
    let ordinary = x.to_bits().wrapping_sub(1) < f32::INFINITY.to_bits() - 1;
    let outside = f32::select(x == 0.0, -f32::INFINITY, x.fma(f32::INFINITY, f32::INFINITY));
    f32::select(ordinary, inside, outside)
}

/// ln(x) for x > 0, to 1 ulp, in the domain of `ln`.
#[inline(always)]
pub(super) fn ln_inside(x: f32) -> f32 {
    let (f, k) = split(x, LEAST);
    k.fma(f32::LN2[0], ln_near(f))
}

/// The natural logarithm.
#[inline(always)]
pub(crate) fn ln(x: f32) -> f32 {
    domain(x, ln_inside(x))
}

/// The logarithm to base 2.
#[inline(always)]
pub(crate) fn log2(x: f32) -> f32 {
    // From √½ on, so that k and the logarithm of 1 + f never nearly cancel.
    let (f, k) = split(x, f32::SQRT_2_2);
    domain(x, k + f.fma(f32::LOG2_E[0], f * poly32::log2_tail(f)))
}

/// The logarithm to base 10.
#[inline(always)]
pub(crate) fn log10(x: f32) -> f32 {
    // As in `log2`.
    let (f, k) = split(x, f32::SQRT_2_2);
    let low = k.fma(f32::LOG10_2[1], f * poly32::log10_tail(f));
    domain(x, k.fma(f32::LOG10_2[0], f.fma(f32::LOG10_E[0], low)))
}

/// ln(x) for x > 0 in two floats, to 2^-30 absolute.
#[inline(always)]
pub(super) fn ln_pair(x: f32) -> Dd<f32> {
    // ln 2 in 11 bits, whose product with k is exact, and the rest.
    const LN2: [f32; 2] = [355.0 / 512.0, -0.00021219444];
    let (f, k) = split(x, LEAST);
    let square = two_product(f, -0.5 * f);
    let head = quick_two_sum(k * LN2[0], f);
    let sum = two_sum(head.hi, square.hi);
    let low = (f * f * f).fma(poly32::ln_tail(f), k.fma(LN2[1], head.lo + square.lo));
    quick_two_sum(sum.hi, sum.lo + low)
}

/// ln(1 + x) + `more`·ln 2.
#[inline(always)]
fn ln_1p_and(x: f32, more: f32) -> f32 {
    let sum = 1.0 + x;
    let k = sum.to_bits().wrapping_sub(LEAST.to_bits()) as i32 >> 23;
    let shift = (k as u32) << 23;
    // x·2^-k + (2^-k - 1), where 4·2^-k is normal for the greatest k, too.
    let scale = f32::from_bits(4.0_f32.to_bits().wrapping_sub(shift));
    let moved = f32::from_bits(x.to_bits().wrapping_sub(shift));
    let f = moved + scale.fma(0.25, -1.0);
    let result = domain(sum, (k as f32 + more).fma(f32::LN2[0], ln_near(f)));
    // A zero keeps its sign.
    f32::select(x == 0.0, x, result)
}

/// ln(1 + x).
#[inline(always)]
pub(crate) fn ln_1p(x: f32) -> f32 {
    ln_1p_and(x, 0.0)
}

/// Above this a square might overflow, and adding one no longer matters.
const LARGE: f32 = 1152921504606846976.0;

/// The inverse hyperbolic sine: ln(1 + (|x| + x² / (1 + √(x² + 1)))).
#[inline(always)]
pub(crate) fn asinh(x: f32) -> f32 {
    let a = x.magnitude();
    let square = a * a;
    let over_one = square.fma((1.0 + (square + 1.0).inner_root()).inverse(), a);
    let large = a > LARGE;
    ln_1p_and(f32::select(large, a, over_one), f32::select(large, 1.0, 0.0)).with_sign(x)
}

/// The inverse hyperbolic cosine: with t = x - 1, ln(1 + (t + √(t² + 2t))).
#[inline(always)]
pub(crate) fn acosh(x: f32) -> f32 {
    let t = x - 1.0;
    let over_one = t + t.fma(t, t + t).inner_root();
    let large = t > LARGE;
    let result = ln_1p_and(f32::select(large, t, over_one), f32::select(large, 1.0, 0.0));
    f32::select(x < 1.0, f32::NAN, result)
}

/// The inverse hyperbolic tangent: ½·ln(1 + 2x / (1 - x)).
#[inline(always)]
pub(crate) fn atanh(x: f32) -> f32 {
    let a = x.magnitude();
    let d = 1.0 - a;
    let lost = (1.0 - d) - a;
    let inverse = d.inverse();
    let q = (a + a) * inverse;
    let remainder = (-q).fma(lost, (-q).fma(d, a + a));
    let result = ln_1p_and(remainder.fma(inverse, q), 0.0);
    // Beyond 2^126 the device's reciprocal is 0, and the result would be finite.
    let outside = f32::select(a == 1.0, f32::INFINITY, f32::NAN);
    f32::select(a < 1.0, 0.5 * result, outside).with_sign(x)
}
