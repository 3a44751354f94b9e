//! The error function and its relatives.
//!
//! (1 + 2x)·e^(x²)·erfc(x) is a polynomial of (x - 5/2) / (x + 5/2) on all x >= 0. What squaring x loses goes into the
//! exponential. The inverse functions are polynomials of the logarithm of 1 - u², where u = erf(x).

use super::exp::{nearest_of, parts, power, scaled};
use super::log::ln_inside;
use crate::math::poly32;
use crate::math::real::Real;

/// e^(s²)·erfc(s) of an s >= 0 that is `x`, or x/√2, of which `middle` is 5/2 and `twice` x is 2s, times `scale`.
#[inline(always)]
fn scaled_erfc(x: f32, middle: f32, twice: f32, scale: f32) -> f32 {
    let far = x.min(1e9);
    // (x - middle) / (x + middle), so that it is exact near 0.
    let t = (far * (far + middle).inverse()).fma(2.0, -1.0);
    let p = poly32::erfcx_scaled(t);
    let d = x.fma(twice * scale, scale);
    let inverse = d.inverse();
    let q = p.fma(inverse, inverse);
    ((-q).fma(d, 1.0) + p).fma(inverse, q)
}

/// erfc(s) / 2^`halvings` of such an s, of which `half`·x is s² too, for s < 11.
#[inline(always)]
fn upper(x: f32, factor: f32, middle: f32, twice: f32, halvings: u32) -> f32 {
    let y = x * factor;
    let square = x * y;
    let (m, k_bits) = parts(-square, -x.fma(y, -square));
    scaled(m * scaled_erfc(x, middle, twice, 1.0), k_bits.wrapping_sub(halvings))
}

/// The error function: a polynomial to 1, then 1 - 2^(x·P(x)). 0.996 ulp.
#[inline(always)]
pub(crate) fn erf(x: f32) -> f32 {
    let a = x.magnitude();
    let small = x.fma(poly32::erf_near(a * a), x);
    // From 4 on the result is one.
    let b = a.min(4.0);
    let p = poly32::erfc_exponent(b);
    let (k_bits, k) = nearest_of(b, p);
    let r = b.fma(p, -k);
    let large = (-(r * poly32::exp2_head(r))).fma(power(k_bits), 1.0 - power(k_bits));
    f32::select(a > 1.0, large.with_sign(x), small)
}

/// 1 - erf(x).
#[inline(always)]
pub(crate) fn erfc(x: f32) -> f32 {
    let a = x.magnitude();
    // From 10.06 on the result is zero.
    let upper = upper(f32::select(a > 10.5, 10.5, a), 1.0, 2.5, 2.0, 0);
    f32::select(x < 0.0, 2.0 - upper, upper)
}

/// e^(x²)·erfc(x).
#[inline(always)]
pub(crate) fn erfcx(x: f32) -> f32 {
    let a = x.magnitude();
    let positive = f32::select(a == f32::INFINITY, 0.0, scaled_erfc(a, 2.5, 2.0, 0.125) * 0.125);
    let b = f32::select(a > 10.0, 10.0, a);
    let square = b * b;
    let (m, k_bits) = parts(square, b.fma(b, -square));
    let negative = scaled(m + m, k_bits) - positive;
    f32::select(x < 0.0, negative, positive)
}

/// The cumulative distribution function of the standard normal distribution.
#[inline(always)]
pub(crate) fn norm_cdf(x: f32) -> f32 {
    let a = x.magnitude();
    // From 14.2 on the result is zero or one.
    let b = f32::select(a > 14.8, 14.8, a);
    let upper = upper(b, 0.5, 3.535_534, core::f32::consts::SQRT_2, 1);
    f32::select(x > 0.0, 1.0 - upper, upper)
}

/// `factor` times the x with erf(x) = u, where m = 1 - u² > 0.
#[inline(always)]
fn erf_inv_of(u: f32, m: f32, factor: f32) -> f32 {
    let w = -ln_inside(m);
    let near = u * (poly32::erf_inv_near(w - 2.0625) * factor);
    let s = w.inner_root();
    let far = (s * factor) * poly32::erf_inv_far(s.inverse());
    f32::select(w > 5.0, far.with_sign(u * factor), near)
}

/// The inverse of the error function.
#[inline(always)]
pub(crate) fn erf_inv(x: f32) -> f32 {
    let inside = erf_inv_of(x, (-x).fma(x, 1.0), 1.0);
    let end = f32::select(x.magnitude() == 1.0, f32::INFINITY.with_sign(x), f32::NAN);
    f32::select(x.magnitude() < 1.0, inside, end)
}

/// `factor` times the inverse of the complementary error function.
#[inline(always)]
fn erfc_inv_times(y: f32, factor: f32) -> f32 {
    let u = 1.0 - y;
    let less = f32::select(u < 0.0, 2.0 - y, y);
    let inside = erf_inv_of(u, (-less).fma(less, less + less), factor);
    let end = f32::select(less == 0.0, f32::INFINITY.with_sign(u * factor), f32::NAN);
    f32::select(less > 0.0, inside, end)
}

/// The inverse of the complementary error function.
#[inline(always)]
pub(crate) fn erfc_inv(y: f32) -> f32 {
    erfc_inv_times(y, 1.0)
}

/// The inverse of the cumulative distribution function.
#[inline(always)]
pub(crate) fn norm_cdf_inv(p: f32) -> f32 {
    // The middle is +0, not -0.
    erfc_inv_times(p + p, -core::f32::consts::SQRT_2) + 0.0
}
