//! Bessel functions of integer order.
//!
//! Up to 8, polynomials in x². Those of J have their zeros split off, and Y has polynomials of its own around its
//! zeros, so that their relative error stays small there too. Beyond, Hankel's form: √(2/(πx))·(P·cos χ - Q·sin χ) with P and Q polynomials in (8/x)². Higher orders by the
//! recurrence J(n+1) + J(n-1) = 2n/x·J(n): upwards where it is stable (n < x, and always for Y), else downwards from far
//! above and scaled by J0 + 2·(J2 + J4 + …) = 1.

use super::poly;
use crate::math::dd::{Dd, two_product};
use crate::math::exp::exp_dd_unlimited;
use crate::math::log::ln_dd;
use crate::math::real::Real;
use crate::math::trig::sin_cos;

const FRAC_2_PI: f64 = core::f64::consts::FRAC_2_PI;
const ZEROS_J0: [Dd<f64>; 3] = [
    Dd { hi: 2.404825557695773, lo: -1.176691651530894e-16 },
    Dd { hi: 5.520078110286311, lo: 8.088597146146722e-17 },
    Dd { hi: 8.653727912911013, lo: -2.92812607320779e-16 },
];
const ZEROS_J1: [Dd<f64>; 3] = [
    Dd { hi: 3.8317059702075125, lo: -1.5269184090088067e-16 },
    Dd { hi: 7.015586669815619, lo: -9.414165653410389e-17 },
    Dd { hi: 10.173468135062722, lo: 4.482162274768888e-16 },
];
const ZEROS_Y0: [Dd<f64>; 3] = [
    Dd { hi: 0.8935769662791675, lo: 2.6596231539720385e-17 },
    Dd { hi: 3.957678419314858, lo: -1.0764340697562706e-16 },
    Dd { hi: 7.086051060301773, lo: -8.835285723085408e-17 },
];
const ZEROS_Y1: [Dd<f64>; 2] = [
    Dd { hi: 2.197141326031017, lo: -4.8259835876454966e-17 },
    Dd { hi: 5.429681040794135, lo: 4.162514026670377e-16 },
];

/// The product of x² - a² over the zeros, for x >= 0.
#[inline(always)]
fn zeros(x: f64, [a, b, c]: [Dd<f64>; 3]) -> f64 {
    let factor = |zero: Dd<f64>| ((x - zero.hi) - zero.lo) * (x + zero.hi);
    factor(a) * factor(b) * factor(c)
}

/// The distance to a zero, if that is near.
#[inline(always)]
fn near(x: f64, zero: Dd<f64>) -> Option<f64> {
    let d = (x - zero.hi) - zero.lo;
    (d.abs() <= 0.25).then_some(d)
}

/// Where x² of x <= 8 lies in [-1, 1].
#[inline(always)]
fn centred(x: f64) -> f64 {
    (x * x - 32.0) * (1.0 / 32.0)
}

#[inline(always)]
fn j0_small(x: f64) -> f64 {
    let value = zeros(x, ZEROS_J0) * poly::j0_small(centred(x));
    // 1 - x²/4 there: exactly one.
    if x < 1e-8 { 1.0 } else { value }
}

#[inline(always)]
fn j1_small(x: f64) -> f64 {
    x * zeros(x, ZEROS_J1) * poly::j1_small(centred(x))
}

/// (J, Y) of order 0 or 1 for x >= 8.
#[inline(always)]
fn hankel(x: f64, order: i32) -> (f64, f64) {
    let (sin, cos) = sin_cos(x);
    let v = 64.0 / x / x;
    let (p, q) = if order == 0 {
        (poly::hankel_p0(v), poly::hankel_q0(v) / x)
    } else {
        (poly::hankel_p1(v), poly::hankel_q1(v) / x)
    };
    // With χ = x - π/4: √2·cos χ = cos x + sin x, √2·sin χ = sin x - cos x; order 1 is a quarter turn on.
    let (cos_phase, sin_phase) = if order == 0 { (cos + sin, sin - cos) } else { (sin - cos, -(sin + cos)) };
    let scale = 1.0 / Real::root(core::f64::consts::PI * x);
    (scale * (p * cos_phase - q * sin_phase), scale * (p * sin_phase + q * cos_phase))
}

#[inline(always)]
pub(crate) fn j0(x: f64) -> f64 {
    let a = x.abs();
    if a <= 8.0 {
        j0_small(a)
    } else if a < f64::INFINITY {
        hankel(a, 0).0
    } else {
        // 0 for infinities, NaN for NaN.
        1.0 / a
    }
}

#[inline(always)]
pub(crate) fn j1(x: f64) -> f64 {
    let a = x.abs();
    let result = if a <= 8.0 {
        j1_small(a)
    } else if a < f64::INFINITY {
        hankel(a, 1).0
    } else {
        1.0 / a
    };
    if x.is_sign_negative() { -result } else { result }
}

/// Y of an `x` that is not finite and positive.
#[inline(always)]
fn y_cases(x: f64) -> f64 {
    if x == 0.0 {
        -f64::INFINITY
    } else if x == f64::INFINITY {
        0.0
    } else {
        f64::NAN
    }
}

#[inline(always)]
pub(crate) fn y0(x: f64) -> f64 {
    if !(x > 0.0 && x < f64::INFINITY) {
        return y_cases(x);
    }
    if x > 8.0 {
        return hankel(x, 0).1;
    }
    if let Some(d) = near(x, ZEROS_Y0[0]) {
        d * poly::y0_at_zero_1(d)
    } else if let Some(d) = near(x, ZEROS_Y0[1]) {
        d * poly::y0_at_zero_2(d)
    } else if let Some(d) = near(x, ZEROS_Y0[2]) {
        d * poly::y0_at_zero_3(d)
    } else {
        (FRAC_2_PI * ln_dd(x).rounded()).fma(j0_small(x), poly::y0_small(centred(x)))
    }
}

#[inline(always)]
pub(crate) fn y1(x: f64) -> f64 {
    if !(x > 0.0 && x < f64::INFINITY) {
        return y_cases(x);
    }
    if x > 8.0 {
        return hankel(x, 1).1;
    }
    if let Some(d) = near(x, ZEROS_Y1[0]) {
        d * poly::y1_at_zero_1(d)
    } else if let Some(d) = near(x, ZEROS_Y1[1]) {
        d * poly::y1_at_zero_2(d)
    } else {
        let of_log = ln_dd(x).rounded() * j1_small(x);
        FRAC_2_PI * (of_log - 1.0 / x) + x * poly::y1_small(centred(x))
    }
}

/// The recurrence upwards from orders 0 and 1.
#[inline(always)]
fn upwards(n: i32, x: f64, zeroth: f64, first: f64) -> f64 {
    let (mut below, mut here) = (zeroth, first);
    let mut k = 1;
    while k < n && here.abs() < f64::INFINITY {
        let above = f64::from(2 * k) / x * here - below;
        (below, here) = (here, above);
        k += 1;
    }
    here
}

/// The recurrence downwards, for n >= x > 0.
#[inline(always)]
fn downwards(n: i32, x: f64) -> f64 {
    // Each order above n shrinks by more than the one before: √(60·n) + 30 orders are 2^-60 and more away.
    let start = (n + Real::root(60.0 * f64::from(n)) as i32 + 30) & !1;
    let (mut above, mut here) = (0.0_f64, 1e-200_f64);
    let (mut sum, mut wanted) = (0.0_f64, 0.0_f64);
    let mut k = start;
    while k > 0 {
        let below = f64::from(2 * k) / x * here - above;
        (above, here) = (here, below);
        k -= 1;
        if k == n {
            wanted = here;
        }
        if k & 1 == 0 {
            sum += if k == 0 { here } else { 2.0 * here };
        }
        if here.abs() > 1e200 {
            (above, here, sum, wanted) = (above * 1e-200, here * 1e-200, sum * 1e-200, wanted * 1e-200);
        }
    }
    wanted / sum
}

#[inline(always)]
pub(crate) fn jn(n: i32, x: f64) -> f64 {
    if n < 0 || x.is_nan() {
        return f64::NAN;
    }
    let a = x.abs();
    let result = if n == 0 {
        j0(a)
    } else if n == 1 {
        j1(a)
    } else if a == 0.0 || a == f64::INFINITY {
        0.0
    } else if a > f64::from(n) {
        upwards(n, a, j0(a), j1(a))
    } else {
        downwards(n, a)
    };
    if x.is_sign_negative() && n & 1 == 1 { -result } else { result }
}

#[inline(always)]
pub(crate) fn yn(n: i32, x: f64) -> f64 {
    if n < 0 || !(x > 0.0 && x < f64::INFINITY) {
        return if n < 0 { f64::NAN } else { y_cases(x) };
    }
    if n == 0 { y0(x) } else { upwards(n, x, y0(x), y1(x)) }
}

/// e^a / √a · p for a >= 8, past the overflow of e^a.
#[inline(always)]
fn grown(a: f64, p: f64) -> f64 {
    let (e, k) = exp_dd_unlimited(Dd { hi: a.min(720.0), lo: 0.0 });
    if a > 720.0 { a * f64::INFINITY } else { (e.hi * (p * a.inner_root().inverse())).scaled(k) }
}

#[inline(always)]
pub(crate) fn i0(x: f64) -> f64 {
    let a = x.abs();
    if a <= 8.0 {
        let t = two_product(a, a * (1.0 / 64.0)).hi;
        return t.fma(poly::i0_small(t), 1.0);
    }
    grown(a, poly::i0_large(16.0 * a.inverse() - 1.0))
}

#[inline(always)]
pub(crate) fn i1(x: f64) -> f64 {
    let a = x.abs();
    let result = if a <= 8.0 {
        let t = a * (a * (1.0 / 64.0));
        a * t.fma(poly::i1_small(t), 0.5)
    } else {
        grown(a, poly::i1_large(16.0 * a.inverse() - 1.0))
    };
    if x.is_sign_negative() { -result } else { result }
}
