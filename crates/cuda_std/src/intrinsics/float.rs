//! Elementary functions.

use crate::math::{double, root, single, trig};

libdevice! {
    /// The sine. Within 1 ulp.
    fn sin(x: f64) -> f64 = double::sin(x);
    /// The cosine. Within 1 ulp.
    fn cos(x: f64) -> f64 = double::cos(x);
    /// The tangent. Within 1 ulp.
    fn tan(x: f64) -> f64 = double::tan(x);
    /// sin(π·x). Within 1 ulp.
    fn sinpi(x: f64) -> f64 = trig::sin_pi(x);
    /// cos(π·x). Within 1 ulp.
    fn cospi(x: f64) -> f64 = trig::cos_pi(x);
    /// The arc sine. Within 1 ulp.
    fn asin(x: f64) -> f64 = double::asin(x);
    /// The arc cosine. Within 1 ulp.
    fn acos(x: f64) -> f64 = double::acos(x);
    /// The arc tangent. Within 1 ulp.
    fn atan(x: f64) -> f64 = double::atan(x);
    /// The angle of the point (x, y). Within 1 ulp.
    fn atan2(y: f64, x: f64) -> f64 = double::atan2(y, x);
    /// The hyperbolic sine. Within 1 ulp.
    fn sinh(x: f64) -> f64 = double::sinh(x);
    /// The hyperbolic cosine. Within 1 ulp.
    fn cosh(x: f64) -> f64 = double::cosh(x);
    /// The hyperbolic tangent. Within 1 ulp.
    fn tanh(x: f64) -> f64 = double::tanh(x);
    /// The inverse hyperbolic sine. Within 1 ulp.
    fn asinh(x: f64) -> f64 = double::asinh(x);
    /// The inverse hyperbolic cosine. Within 1 ulp.
    fn acosh(x: f64) -> f64 = double::acosh(x);
    /// The inverse hyperbolic tangent. Within 1 ulp.
    fn atanh(x: f64) -> f64 = double::atanh(x);
    /// e^x. Within 1 ulp.
    fn exp(x: f64) -> f64 = double::exp(x);
    /// 2^x. Within 1 ulp.
    fn exp2(x: f64) -> f64 = double::exp2(x);
    /// 10^x. Within 1 ulp.
    fn exp10(x: f64) -> f64 = double::exp10(x);
    /// e^x - 1. Within 1 ulp.
    fn expm1(x: f64) -> f64 = double::exp_m1(x);
    /// The natural logarithm. Within 1 ulp.
    fn log(x: f64) -> f64 = double::ln(x);
    /// The logarithm to base 2. Within 1 ulp.
    fn log2(x: f64) -> f64 = double::log2(x);
    /// The logarithm to base 10. Within 1 ulp.
    fn log10(x: f64) -> f64 = double::log10(x);
    /// ln(1 + x). Within 1 ulp.
    fn log1p(x: f64) -> f64 = double::ln_1p(x);
    /// x^y. Within 1 ulp.
    fn pow(x: f64, y: f64) -> f64 = double::pow(x, y);
    /// x^n. Within 1 ulp.
    fn powi(x: f64, n: i32) -> f64 = double::powi(x, n);
    /// The cube root. Within 1 ulp.
    fn cbrt(x: f64) -> f64 = double::cbrt(x);
    /// 1 / ∛x. Within 1 ulp.
    fn rcbrt(x: f64) -> f64 = double::rcbrt(x);
    /// √(x² + y²). Within 1 ulp.
    fn hypot(x: f64, y: f64) -> f64 = double::hypot(x, y);
    /// 1 / √(x² + y²). Within 1 ulp.
    fn rhypot(x: f64, y: f64) -> f64 = double::rhypot(x, y);
    /// √(x² + y² + z²). Within 1 ulp.
    fn norm3d(x: f64, y: f64, z: f64) -> f64 = root::norm([x, y, z].into_iter());
    /// 1 / √(x² + y² + z²). Within 1 ulp.
    fn rnorm3d(x: f64, y: f64, z: f64) -> f64 = root::rnorm([x, y, z].into_iter());
    /// √(x² + y² + z² + w²). Within 1 ulp.
    fn norm4d(x: f64, y: f64, z: f64, w: f64) -> f64 = root::norm([x, y, z, w].into_iter());
    /// 1 / √(x² + y² + z² + w²). Within 1 ulp.
    fn rnorm4d(x: f64, y: f64, z: f64, w: f64) -> f64 = root::rnorm([x, y, z, w].into_iter());
    /// The length of the vector of `n` components at `x`. Within 1 ulp.
    fn norm(n: i32, x: *const f64) -> f64 =
        // SAFETY: the caller's promise.
        root::norm(unsafe { components(n, x) });
    /// 1 / the length of the vector of `n` components at `x`. Within 1 ulp.
    fn rnorm(n: i32, x: *const f64) -> f64 =
        // SAFETY: the caller's promise.
        root::rnorm(unsafe { components(n, x) });
    /// The sine. Within 1 ulp.
    fn sinf(x: f32) -> f32 = single::sin(x);
    /// The cosine. Within 1 ulp.
    fn cosf(x: f32) -> f32 = single::cos(x);
    /// The tangent. Within 1 ulp.
    fn tanf(x: f32) -> f32 = single::tan(x);
    /// sin(π·x). Within 1 ulp.
    fn sinpif(x: f32) -> f32 = trig::sin_pi(x);
    /// cos(π·x). Within 1 ulp.
    fn cospif(x: f32) -> f32 = trig::cos_pi(x);
    /// The arc sine. Within 2.5 ulp.
    fn asinf(x: f32) -> f32 = single::asin(x);
    /// The arc cosine. Within 1.5 ulp.
    fn acosf(x: f32) -> f32 = single::acos(x);
    /// The arc tangent. Within 2 ulp.
    fn atanf(x: f32) -> f32 = single::atan(x);
    /// The angle of the point (x, y). Within 1 ulp.
    fn atan2f(y: f32, x: f32) -> f32 = single::atan2(y, x);
    /// The hyperbolic sine. Within 2 ulp.
    fn sinhf(x: f32) -> f32 = single::sinh(x);
    /// The hyperbolic cosine. Within 1.5 ulp.
    fn coshf(x: f32) -> f32 = single::cosh(x);
    /// The hyperbolic tangent. Within 2 ulp.
    fn tanhf(x: f32) -> f32 = single::tanh(x);
    /// The inverse hyperbolic sine. Within 2 ulp.
    fn asinhf(x: f32) -> f32 = single::asinh(x);
    /// The inverse hyperbolic cosine. Within 2.5 ulp.
    fn acoshf(x: f32) -> f32 = single::acosh(x);
    /// The inverse hyperbolic tangent. Within 2 ulp.
    fn atanhf(x: f32) -> f32 = single::atanh(x);
    /// e^x. Within 1 ulp.
    fn expf(x: f32) -> f32 = single::exp(x);
    /// 2^x. Within 1 ulp.
    fn exp2f(x: f32) -> f32 = single::exp2(x);
    /// 10^x. Within 1.5 ulp.
    fn exp10f(x: f32) -> f32 = single::exp10(x);
    /// e^x - 1. Within 1 ulp.
    fn expm1f(x: f32) -> f32 = single::exp_m1(x);
    /// The natural logarithm. Within 1 ulp.
    fn logf(x: f32) -> f32 = single::ln(x);
    /// The logarithm to base 2. Within 1.5 ulp.
    fn log2f(x: f32) -> f32 = single::log2(x);
    /// The logarithm to base 10. Within 1 ulp.
    fn log10f(x: f32) -> f32 = single::log10(x);
    /// ln(1 + x). Within 1 ulp.
    fn log1pf(x: f32) -> f32 = single::ln_1p(x);
    /// x^y. Within 1 ulp.
    fn powf(x: f32, y: f32) -> f32 = single::pow(x, y);
    /// x^n. Within 1 ulp.
    fn powif(x: f32, n: i32) -> f32 = single::powi(x, n);
    /// The cube root. Within 1 ulp.
    fn cbrtf(x: f32) -> f32 = single::cbrt(x);
    /// 1 / ∛x. Within 1 ulp.
    fn rcbrtf(x: f32) -> f32 = single::rcbrt(x);
    /// √(x² + y²). Within 1 ulp.
    fn hypotf(x: f32, y: f32) -> f32 = single::hypot(x, y);
    /// 1 / √(x² + y²). Within 1 ulp.
    fn rhypotf(x: f32, y: f32) -> f32 = single::rhypot(x, y);
    /// √(x² + y² + z²). Within 1 ulp.
    fn norm3df(x: f32, y: f32, z: f32) -> f32 = root::norm([x, y, z].into_iter());
    /// 1 / √(x² + y² + z²). Within 1 ulp.
    fn rnorm3df(x: f32, y: f32, z: f32) -> f32 = root::rnorm([x, y, z].into_iter());
    /// √(x² + y² + z² + w²). Within 1 ulp.
    fn norm4df(x: f32, y: f32, z: f32, w: f32) -> f32 = root::norm([x, y, z, w].into_iter());
    /// 1 / √(x² + y² + z² + w²). Within 1 ulp.
    fn rnorm4df(x: f32, y: f32, z: f32, w: f32) -> f32 = root::rnorm([x, y, z, w].into_iter());
    /// The length of the vector of `n` components at `x`. Within 1 ulp.
    fn normf(n: i32, x: *const f32) -> f32 =
        // SAFETY: the caller's promise.
        root::norm(unsafe { components(n, x) });
    /// 1 / the length of the vector of `n` components at `x`. Within 1 ulp.
    fn rnormf(n: i32, x: *const f32) -> f32 =
        // SAFETY: the caller's promise.
        root::rnorm(unsafe { components(n, x) });
}

/// The components of a vector.
///
/// # Safety
///
/// `x` must be valid to read for `n` components.
#[inline(always)]
unsafe fn components<T: Copy + 'static>(n: i32, x: *const T) -> impl Iterator<Item = T> + Clone {
    // SAFETY: the caller's promise.
    (0..n.max(0) as usize).map(move |i| unsafe { x.add(i).read() })
}
