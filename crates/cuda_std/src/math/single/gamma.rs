//! The gamma function and its logarithm.
//!
//! Γ is a polynomial on [1, 2], reached by at most four factors that are exact, and Stirling's series from 6 on. The
//! logarithm has polynomials around its zeros 1 and 2. For negative x, Γ(x)·Γ(-x) = -π / (x·sin πx).

use super::exp::{parts, scaled};
use super::log::{ln, ln_inside, ln_pair};
use crate::math::dd::{two_product, two_sum};
use crate::math::poly32;
use crate::math::real::Real;

const HALF_LN_2_PI: f32 = 0.9189385;

/// |sin(πa)|/π for a >= 0, and whether it lies on the negative side.
#[inline(always)]
fn sin_pi(a: f32) -> (f32, bool) {
    let whole = a.round_to_zero();
    let part = a - whole;
    let r = f32::select(part > 0.5, 1.0 - part, part);
    let z = r * r;
    ((r * z).fma(poly32::sin_pi_tail(z), r), whole.to_i32() & 1 != 0)
}

/// Γ(a) = m·2^k for a >= 6.
#[inline(always)]
fn stirling(a: f32) -> (f32, u32) {
    let inverse = a.inverse();
    let log = ln_pair(a);
    let half = a - 0.5;
    // (a - ½)·ln a - a + ln(2π)/2 + …, of which a - ½ is exact.
    let product = two_product(half, log.hi);
    let sum = two_sum(product.hi, -a);
    let low = inverse.fma(poly32::stirling_near(inverse * inverse), half.fma(log.lo, product.lo) + sum.lo);
    let exponent = two_sum(sum.hi, HALF_LN_2_PI);
    parts(exponent.hi, exponent.lo + low)
}

/// Γ(a) for 2^-30 < a < 6.
#[inline(always)]
fn near(a: f32) -> f32 {
    let mut y = a;
    let mut product = 1.0;
    while y >= 2.0 {
        y -= 1.0;
        product *= y;
    }
    let below = y < 1.0;
    let value = poly32::gamma_head(f32::select(below, y - 0.5, y - 1.5));
    value * f32::select(below, f32::select(below, y, 1.0).inverse(), product)
}

/// The gamma function.
#[inline(always)]
pub(crate) fn gamma(x: f32) -> f32 {
    let a = x.magnitude();
    // 1/x to the last place; a NaN stays one.
    if a < 9.313226e-10 || x.is_nan() {
        return 1.0 / x;
    }
    let (m, k_bits) = if a >= 6.0 { stirling(a.min(50.0)) } else { (near(a), 0) };
    if x > 0.0 {
        return scaled(m, k_bits);
    }
    let (sine, negative) = sin_pi(a);
    // There is no value at the negative integers.
    if sine == 0.0 || a == f32::INFINITY {
        return f32::NAN;
    }
    let result = (a.min(50.0) * sine * m).inverse() * f32::select(negative, 1.0, -1.0);
    scaled(result, k_bits.wrapping_neg())
}

/// ln Γ(a) for a >= 1/2.
#[inline(always)]
fn ln_gamma_from_half(a: f32) -> f32 {
    if a < 3.0 {
        let (one, two) = (a - 1.0, a - 2.0);
        // Fused with a zero, so that both zeros are positive.
        return if a < 1.5 {
            one.fma(poly32::ln_gamma_at_1(one), 0.0)
        } else {
            two.fma(poly32::ln_gamma_at_2(two), 0.0)
        };
    }
    let inverse = a.min(1e30).inverse();
    let log = ln_pair(a);
    // (a - ½)·(ln a - 1) + (ln(2π) - 1)/2 + …
    let factor = two_sum(log.hi, -1.0);
    let half = a - 0.5;
    let product = two_product(half, factor.hi);
    let rest = inverse.fma(poly32::stirling_near(inverse * inverse), HALF_LN_2_PI - 0.5);
    let low = half.fma(factor.lo + log.lo, product.lo);
    let sum = two_sum(product.hi, rest);
    // Beyond the range the lower parts are differences of infinities.
    f32::select(product.hi < f32::INFINITY, sum.hi + (sum.lo + low), product.hi)
}

/// ln |Γ(x)|.
#[inline(always)]
pub(crate) fn ln_gamma(x: f32) -> f32 {
    let a = x.magnitude();
    if a < 0.5 {
        // Γ(x) = Γ(1 + x) / x
        return x.fma(poly32::ln_gamma_at_1(x), -ln(a));
    }
    let result = ln_gamma_from_half(a);
    if x > 0.0 {
        return result;
    }
    let (sine, _) = sin_pi(a);
    // The negative integers are poles.
    if sine == 0.0 || a == f32::INFINITY {
        return f32::INFINITY;
    }
    -ln_inside(a * sine) - result
}
