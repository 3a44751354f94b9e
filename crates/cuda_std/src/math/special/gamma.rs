//! The gamma function and its logarithm.
//!
//! Stirling's series from 12 on. Below, Γ(x) = Γ(x + n) / (x·(x+1)·…·(x+n-1)), the product in two floats; for negative
//! x, Γ(x)·Γ(-x) = -π / (x·sin πx). The logarithm has polynomials of its own near its zeros 1 and 2, where the
//! difference would lose all digits.

use super::poly;
use crate::math::dd::{Dd, quick_two_sum, two_sum};
use crate::math::exp::exp_dd_unlimited;
use crate::math::log::ln_of;
use crate::math::real::Real;
use crate::math::trig::sin_pi;

const HALF_LN_2_PI: Dd<f64> = Dd { hi: 0.9189385332046728, lo: -3.8782941580672716e-17 };
const PI: Dd<f64> = Dd { hi: core::f64::consts::PI, lo: 1.2246467991473532e-16 };
const ONE: Dd<f64> = Dd { hi: 1.0, lo: 0.0 };

/// From here on Stirling's series is used.
const LARGE: f64 = 12.0;

/// ln Γ(y) for y >= 12.
#[inline(always)]
fn stirling(y: Dd<f64>) -> Dd<f64> {
    let inverse = y.hi.inverse();
    let series = inverse * poly::stirling(inverse * inverse);
    let product = y.plus(-0.5).times_dd(ln_of(y));
    product.plus_dd(y.negated()).plus_dd(HALF_LN_2_PI).plus(series)
}

/// x + n >= 12 and x·(x+1)·…·(x+n-1), for x > 0.
#[inline(always)]
fn raised(x: f64) -> (Dd<f64>, Dd<f64>) {
    let mut product = ONE;
    let mut n = 0.0;
    while x + n < LARGE {
        product = product.times_dd(two_sum(n, x));
        n += 1.0;
    }
    (two_sum(n, x), product)
}

/// Γ(x) = m·2^k for 0 < x < 200.
#[inline(always)]
fn gamma_parts(x: f64) -> (Dd<f64>, i32) {
    let (y, product) = raised(x);
    let (e, k) = exp_dd_unlimited(stirling(y));
    (e.over(product), k)
}

#[inline(always)]
pub(crate) fn gamma(x: f64) -> f64 {
    let a = x.abs();
    if x == 0.0 || x.is_nan() {
        return 1.0 / x;
    }
    // Below this 1/x is the result, and its neighbours overflow.
    if a < 1e-300 {
        return 1.0 / x;
    }
    let beyond = a >= 200.0;
    let (m, k) = gamma_parts(if beyond { 100.0 } else { a });
    if x > 0.0 {
        return if beyond || k > 1030 { f64::INFINITY } else { m.rounded().scaled(k) };
    }
    // There is no value at -∞ and the negative integers.
    if x.round_to_zero() == x {
        return f64::NAN;
    }
    let sine = sin_pi(a);
    let result = PI.over(m.times(a).times(sine)).rounded();
    if beyond { (0.0).with_sign(-sine) } else { -result.scaled(-k) }
}

/// ln Γ(x) for finite x > 0.
#[inline(always)]
fn ln_gamma_positive(x: f64) -> Dd<f64> {
    let (from_1, from_2) = (x - 1.0, x - 2.0);
    if from_1.abs() <= 0.25 {
        let value = two_product_rounded(from_1, poly::ln_gamma_at_1(from_1));
        return value;
    }
    if from_2.abs() <= 0.25 {
        return two_product_rounded(from_2, poly::ln_gamma_at_2(from_2));
    }
    let (y, product) = raised(x);
    let result = stirling(y);
    if product.hi == 1.0 && x >= LARGE { result } else { result.plus_dd(ln_of(product).negated()) }
}

#[inline(always)]
fn two_product_rounded(a: f64, b: f64) -> Dd<f64> {
    Dd { hi: a * b, lo: 0.0 }
}

#[inline(always)]
pub(crate) fn ln_gamma(x: f64) -> f64 {
    if x.is_nan() || x.abs() == f64::INFINITY {
        return x * x;
    }
    let a = x.abs();
    if a < 1e-18 {
        // -ln |x|, subnormals included: what is added to it lies beyond the last place.
        return if x == 0.0 { f64::INFINITY } else { -crate::math::log::ln_dd(a).rounded() };
    }
    if a > 1e306 && x > 0.0 {
        // Near the overflow: ln Γ(x) = x·(ln x - 1) to all places.
        return a * (crate::math::log::ln_dd(a).rounded() - 1.0);
    }
    if x > 0.0 {
        return ln_gamma_positive(x).rounded();
    }
    if x.round_to_zero() == x {
        return f64::INFINITY;
    }
    let product = quick_two_sum(a, 0.0).times(sin_pi(a).abs());
    let reflected = ln_of(PI.over(product));
    reflected.plus_dd(ln_gamma_positive(a).negated()).rounded()
}
