//! The error function and its relatives.
//!
//! erfc(x) = e^(-x²)·E(x), where (1 + 2x)·E(x) is a polynomial of (x - 4) / (x + 4) to the last place, on all x >= 1/2.
//! x² and its exponential are kept in two floats. The inverse functions start from a polynomial good to 20 bits and
//! take one step of Halley, which triples them.

use super::poly;
use crate::math::dd::{Dd, quick_two_sum, two_product, two_sum};
use crate::math::exp::{exp_dd, exp_of};
use crate::math::log::split;
use crate::math::real::Real;
use crate::math::single::ln_near;

/// √π / 2
const SQRT_PI_2: f64 = 0.886226925452758;
const SQRT_2: Dd<f64> = Dd { hi: core::f64::consts::SQRT_2, lo: -9.667293313452913e-17 };
const SQRT_1_2: Dd<f64> = Dd { hi: core::f64::consts::FRAC_1_SQRT_2, lo: -4.833646656726457e-17 };

/// erf(x) for |x| <= 1.
#[inline(always)]
fn erf_small(x: Dd<f64>) -> Dd<f64> {
    let head = poly::erf_head(x.hi * x.hi);
    quick_two_sum(x.hi, x.hi.fma(head, x.lo))
}

/// e^(x²)·erfc(x) for x >= 1/2.
#[inline(always)]
fn erfcx_large(x: f64) -> Dd<f64> {
    let t = (x - 4.0) * (x + 4.0).inverse();
    let numerator = quick_two_sum(1.0, poly::erfcx_scaled(t));
    numerator.over(two_sum(1.0, x + x))
}

/// erfc(x) = m·2^k for x >= 1/2.
#[inline(always)]
fn erfc_large(x: Dd<f64>) -> (Dd<f64>, i32) {
    // From 28 on the result is zero.
    let x = if x.hi < 28.0 { x } else { Dd { hi: 28.0, lo: 0.0 } };
    let (e, k) = exp_dd(x.square().negated());
    (erfcx_large(x.hi).times_dd(e), k)
}

/// erfc(hi + lo) / 2^`halvings`, rounded once even where it is subnormal.
#[inline(always)]
fn erfc_of(x: Dd<f64>, halvings: i32) -> f64 {
    let size = if x.hi < 0.0 { x.negated() } else { x };
    let near = Dd { hi: 1.0, lo: 0.0 }.plus_dd(erf_small(x).negated()).rounded();
    let (m, k) = erfc_large(Dd { hi: size.hi.max(0.5), lo: size.lo });
    let small = m.scaled(f64::power_of_two(k.max(-200)));
    let below_zero = Dd { hi: 2.0, lo: 0.0 }.plus_dd(small.negated()).rounded();
    let whole = if size.hi < 0.5 { near } else { below_zero } * f64::power_of_two(-halvings);
    let result = if x.hi >= 0.5 { m.rounded().scaled(k - halvings) } else { whole };
    if x.hi.is_nan() { x.hi } else { result }
}

#[inline(always)]
pub(crate) fn erf(x: f64) -> f64 {
    let a = x.abs();
    let small = erf_small(Dd { hi: x, lo: 0.0 }).rounded();
    let (m, k) = erfc_large(Dd { hi: a.max(0.5), lo: 0.0 });
    let large = 1.0 - m.rounded() * f64::power_of_two(k.max(-200));
    if x == 0.0 {
        // A zero keeps its sign.
        x
    } else if a <= 1.0 || x.is_nan() {
        small
    } else {
        large.copysign(x)
    }
}

#[inline(always)]
pub(crate) fn erfc(x: f64) -> f64 {
    erfc_of(Dd { hi: x, lo: 0.0 }, 0)
}

#[inline(always)]
pub(crate) fn erfcx(x: f64) -> f64 {
    let a = x.abs();
    let square = two_product(a.min(30.0), a.min(30.0));
    let growth = exp_of(square);
    let large = erfcx_large(a.clamp(0.5, 1e300));
    let result = if x > 1e100 {
        // The first term of the asymptotic series.
        0.5 * core::f64::consts::FRAC_2_SQRT_PI / x
    } else if a < 0.5 {
        let rest = Dd { hi: 1.0, lo: 0.0 }.plus_dd(erf_small(Dd { hi: x, lo: 0.0 }).negated());
        let (e, k) = exp_dd(square);
        rest.times_dd(e).rounded().scaled(k)
    } else if x > 0.0 {
        large.rounded()
    } else {
        2.0 * growth - large.rounded()
    };
    if x.is_nan() { x } else { result }
}

/// ln(x) for x > 0, to 20 bits.
#[inline(always)]
fn rough_ln(x: f64) -> f64 {
    let (m, k) = split(x);
    f64::from(k).fma(core::f64::consts::LN_2, f64::from(ln_near((m - 1.0) as f32)))
}

/// The x >= 0 with erfc(x) = y, for 0 < y <= 1, where `u` is 1 - y.
#[inline(always)]
fn erfc_inv_upper(y: f64, u: f64) -> f64 {
    // -ln(1 - u²), from which the start needs 20 bits.
    let w = -rough_ln(y * (2.0 - y));
    let start = if w <= 5.0 {
        u * poly::erf_inv_middle(w)
    } else {
        let s = w.inner_root();
        s * poly::erf_inv_tail(s.inverse())
    };
    // The error of the start, as (its erfc - y)·√π/2·e^(x²), so that nothing underflows.
    let x = Dd { hi: start, lo: 0.0 };
    let step = if start < 0.5 {
        let error = erf_small(x).plus(-u).rounded();
        let (e, k) = exp_dd(x.square());
        error * SQRT_PI_2 * e.hi.scaled(k)
    } else {
        let (e, k) = exp_dd(x.square().negated());
        let target =
            Dd { hi: y * f64::power_of_two((-k).min(1000)) * f64::power_of_two((-k - 1000).max(0)), lo: 0.0 };
        let error = erfcx_large(start).times_dd(e).plus_dd(target.negated()).rounded();
        -error * SQRT_PI_2 * e.hi.inverse()
    };
    start - step * step.fma(start, 1.0).inverse()
}

#[inline(always)]
pub(crate) fn erf_inv(x: f64) -> f64 {
    let a = x.abs();
    let result = erfc_inv_upper(1.0 - a, a).copysign(x);
    if a < 1e-150 {
        // The step's parts would be subnormal: the first term of the series is enough.
        x * poly::erf_inv_middle_at_zero()
    } else if a < 1.0 {
        result
    } else if a == 1.0 {
        f64::INFINITY.copysign(x)
    } else {
        f64::NAN
    }
}

/// The inverse of erfc for y in (0, 2).
#[inline(always)]
fn erfc_inv_inside(y: f64) -> f64 {
    let u = 1.0 - y;
    erfc_inv_upper(if u < 0.0 { 2.0 - y } else { y }, u.abs()).copysign(u)
}

#[inline(always)]
fn erfc_inv_cases(y: f64, inside: f64) -> f64 {
    if y > 0.0 && y < 2.0 {
        if y == 1.0 { 0.0 } else { inside }
    } else if y == 0.0 {
        f64::INFINITY
    } else if y == 2.0 {
        -f64::INFINITY
    } else {
        f64::NAN
    }
}

#[inline(always)]
pub(crate) fn erfc_inv(y: f64) -> f64 {
    erfc_inv_cases(y, erfc_inv_inside(y))
}

#[inline(always)]
pub(crate) fn norm_cdf(x: f64) -> f64 {
    // Beyond 40 the result is 0 or 1 apart from rounding.
    let x = if x.is_nan() { x } else { x.clamp(-40.0, 40.0) };
    erfc_of(SQRT_1_2.times(-x), 1)
}

#[inline(always)]
pub(crate) fn norm_cdf_inv(p: f64) -> f64 {
    let y = 2.0 * p;
    // Not a negation, so that the middle is +0.
    0.0 - erfc_inv_cases(y, SQRT_2.times(erfc_inv_inside(y)).rounded())
}
