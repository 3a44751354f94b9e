//! Exponentials: x = k·ln 2 + r, e^x = 2^k·(1 + r·P(r)).

use crate::math::poly32;
use crate::math::real::Real;

/// 2^23·3/2: adding it to a number rounds it to an integer, which then fills the lowest bits.
const ROUNDING: f32 = 12582912.0;

/// The nearest integer to x, as the lowest bits of a float and as a float.
#[inline(always)]
pub(super) fn nearest_of(x: f32, factor: f32) -> (u32, f32) {
    let rounded = x.fma(factor, ROUNDING);
    (rounded.to_bits(), rounded - ROUNDING)
}

/// 2^k of the k among the lowest bits of `k_bits`, for a normal result.
#[inline(always)]
pub(super) fn power(k_bits: u32) -> f32 {
    f32::from_bits((k_bits << 23).wrapping_add(f32::ONE.to_bits()))
}

/// m·2^k, rounded once, for |k| up to 252.
#[inline(always)]
pub(super) fn scaled(m: f32, k_bits: u32) -> f32 {
    let half = k_bits >> 1;
    m * power(half) * power(k_bits.wrapping_sub(half))
}

/// x, clamped to ±`limit`.
#[inline(always)]
fn limited(x: f32, limit: f32) -> f32 {
    f32::select(x.magnitude() > limit, limit.with_sign(x), x)
}

/// x = k·unit + r with the nearest k, for a unit in two parts whose inverse is `inverse`: k's bits and r.
#[inline(always)]
fn reduced(x: f32, inverse: f32, unit: [f32; 2]) -> (u32, f32) {
    let (k_bits, k) = nearest_of(x, inverse);
    (k_bits, (-k).fma(unit[1], (-k).fma(unit[0], x)))
}

/// e^(x + low) = m·2^k, for a `low` too small to change x.
#[inline(always)]
pub(super) fn parts(x: f32, low: f32) -> (f32, u32) {
    let (k_bits, r) = reduced(x, f32::LOG2_E[0], f32::LN2);
    let r = r + low;
    (r.fma(poly32::exp_head(r), 1.0), k_bits)
}

/// e^x.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    let x = limited(x, 104.0);
    let (k_bits, r) = reduced(x, f32::LOG2_E[0], f32::LN2);
    scaled(r.fma(poly32::exp_head(r), 1.0), k_bits)
}

/// 2^x.
#[inline(always)]
pub(crate) fn exp2(x: f32) -> f32 {
    let x = limited(x, 160.0);
    let (k_bits, k) = nearest_of(x, 1.0);
    let r = x - k;
    scaled(r.fma(poly32::exp2_head(r), 1.0), k_bits)
}

/// 10^x.
#[inline(always)]
pub(crate) fn exp10(x: f32) -> f32 {
    let x = limited(x, 46.0);
    let (k_bits, r) = reduced(x, f32::LOG2_10, f32::LOG10_2);
    scaled(r.fma(poly32::exp10_head(r), 1.0), k_bits)
}

/// e^a / 4 for a >= 0; infinite only if four times that is, too.
#[inline(always)]
fn quarter(a: f32) -> f32 {
    let (m, k_bits) = parts(f32::select(a > 89.5, 89.5, a), 0.0);
    m * power(k_bits.wrapping_sub(2))
}

/// The hyperbolic sine.
#[inline(always)]
pub(crate) fn sinh(x: f32) -> f32 {
    let a = x.magnitude();
    let z = a * a;
    let small = (a * z).fma(f32::sinh_tail(z), a);
    let quarter = quarter(a);
    let large = quarter.fma(2.0, -0.125 * quarter.inverse());
    let large = f32::select(a > 90.0, a * f32::MAX, large);
    f32::select(a <= 1.0, small, large).with_sign(x)
}

/// The hyperbolic cosine.
#[inline(always)]
pub(crate) fn cosh(x: f32) -> f32 {
    let quarter = quarter(x.magnitude());
    quarter.fma(2.0, 0.125 * quarter.inverse())
}

/// The hyperbolic tangent: 1 - 2 / (e^2x + 1) away from zero.
#[inline(always)]
pub(crate) fn tanh(x: f32) -> f32 {
    let a = x.magnitude();
    let z = a * a;
    let small = (a * z).fma(f32::tanh_tail(z), a);
    let (m, k_bits) = parts(f32::select(a > 10.0, 20.0, a + a), 0.0);
    let large = (m.fma(power(k_bits), 1.0)).inverse().fma(-2.0, 1.0);
    f32::select(a < f32::TANH_SMALL, small, large).with_sign(x)
}
