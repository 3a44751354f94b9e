//! Elementary functions.

use crate::math::{exp, log, root, trig};

libdevice! {
    /// The sine.
    fn sin(x: f64) -> f64 = trig::sin(x);
    /// The cosine.
    fn cos(x: f64) -> f64 = trig::cos(x);
    /// The tangent.
    fn tan(x: f64) -> f64 = trig::tan(x);
    /// sin(π·x).
    fn sinpi(x: f64) -> f64 = trig::sin_pi(x);
    /// cos(π·x).
    fn cospi(x: f64) -> f64 = trig::cos_pi(x);
    /// The arc sine.
    fn asin(x: f64) -> f64 = trig::asin(x);
    /// The arc cosine.
    fn acos(x: f64) -> f64 = trig::acos(x);
    /// The arc tangent.
    fn atan(x: f64) -> f64 = trig::atan(x);
    /// The angle of the point (x, y).
    fn atan2(y: f64, x: f64) -> f64 = trig::atan2(y, x);
    /// The hyperbolic sine.
    fn sinh(x: f64) -> f64 = exp::sinh(x);
    /// The hyperbolic cosine.
    fn cosh(x: f64) -> f64 = exp::cosh(x);
    /// The hyperbolic tangent.
    fn tanh(x: f64) -> f64 = exp::tanh(x);
    /// The inverse hyperbolic sine.
    fn asinh(x: f64) -> f64 = log::asinh(x);
    /// The inverse hyperbolic cosine.
    fn acosh(x: f64) -> f64 = log::acosh(x);
    /// The inverse hyperbolic tangent.
    fn atanh(x: f64) -> f64 = log::atanh(x);
    /// e^x.
    fn exp(x: f64) -> f64 = exp::exp(x);
    /// 2^x.
    fn exp2(x: f64) -> f64 = exp::exp2(x);
    /// 10^x.
    fn exp10(x: f64) -> f64 = exp::exp10(x);
    /// e^x - 1.
    fn expm1(x: f64) -> f64 = exp::exp_m1(x);
    /// The natural logarithm.
    fn log(x: f64) -> f64 = log::ln(x);
    /// The logarithm to base 2.
    fn log2(x: f64) -> f64 = log::log2(x);
    /// The logarithm to base 10.
    fn log10(x: f64) -> f64 = log::log10(x);
    /// ln(1 + x).
    fn log1p(x: f64) -> f64 = log::ln_1p(x);
    /// x^y.
    fn pow(x: f64, y: f64) -> f64 = log::pow(x, y);
    /// x^n.
    fn powi(x: f64, n: i32) -> f64 = log::powi(x, n);
    /// The cube root.
    fn cbrt(x: f64) -> f64 = root::cbrt(x);
    /// 1 / ∛x.
    fn rcbrt(x: f64) -> f64 = root::rcbrt(x);
    /// √(x² + y²).
    fn hypot(x: f64, y: f64) -> f64 = root::hypot(x, y);
    /// 1 / √(x² + y²).
    fn rhypot(x: f64, y: f64) -> f64 = root::rhypot(x, y);
    /// √(x² + y² + z²).
    fn norm3d(x: f64, y: f64, z: f64) -> f64 = root::norm([x, y, z].into_iter());
    /// 1 / √(x² + y² + z²).
    fn rnorm3d(x: f64, y: f64, z: f64) -> f64 = root::rnorm([x, y, z].into_iter());
    /// √(x² + y² + z² + w²).
    fn norm4d(x: f64, y: f64, z: f64, w: f64) -> f64 = root::norm([x, y, z, w].into_iter());
    /// 1 / √(x² + y² + z² + w²).
    fn rnorm4d(x: f64, y: f64, z: f64, w: f64) -> f64 = root::rnorm([x, y, z, w].into_iter());
    /// The length of the vector of `n` components at `x`.
    fn norm(n: i32, x: *const f64) -> f64 =
        // SAFETY: the caller's promise.
        root::norm(unsafe { components(n, x) });
    /// 1 / the length of the vector of `n` components at `x`.
    fn rnorm(n: i32, x: *const f64) -> f64 =
        // SAFETY: the caller's promise.
        root::rnorm(unsafe { components(n, x) });
    /// The sine.
    fn sinf(x: f32) -> f32 = trig::sin(x);
    /// The cosine.
    fn cosf(x: f32) -> f32 = trig::cos(x);
    /// The tangent.
    fn tanf(x: f32) -> f32 = trig::tan(x);
    /// sin(π·x).
    fn sinpif(x: f32) -> f32 = trig::sin_pi(x);
    /// cos(π·x).
    fn cospif(x: f32) -> f32 = trig::cos_pi(x);
    /// The arc sine.
    fn asinf(x: f32) -> f32 = trig::asin(x);
    /// The arc cosine.
    fn acosf(x: f32) -> f32 = trig::acos(x);
    /// The arc tangent.
    fn atanf(x: f32) -> f32 = trig::atan(x);
    /// The angle of the point (x, y).
    fn atan2f(y: f32, x: f32) -> f32 = trig::atan2(y, x);
    /// The hyperbolic sine.
    fn sinhf(x: f32) -> f32 = exp::sinh(x);
    /// The hyperbolic cosine.
    fn coshf(x: f32) -> f32 = exp::cosh(x);
    /// The hyperbolic tangent.
    fn tanhf(x: f32) -> f32 = exp::tanh(x);
    /// The inverse hyperbolic sine.
    fn asinhf(x: f32) -> f32 = log::asinh(x);
    /// The inverse hyperbolic cosine.
    fn acoshf(x: f32) -> f32 = log::acosh(x);
    /// The inverse hyperbolic tangent.
    fn atanhf(x: f32) -> f32 = log::atanh(x);
    /// e^x.
    fn expf(x: f32) -> f32 = exp::exp(x);
    /// 2^x.
    fn exp2f(x: f32) -> f32 = exp::exp2(x);
    /// 10^x.
    fn exp10f(x: f32) -> f32 = exp::exp10(x);
    /// e^x - 1.
    fn expm1f(x: f32) -> f32 = exp::exp_m1(x);
    /// The natural logarithm.
    fn logf(x: f32) -> f32 = log::ln(x);
    /// The logarithm to base 2.
    fn log2f(x: f32) -> f32 = log::log2(x);
    /// The logarithm to base 10.
    fn log10f(x: f32) -> f32 = log::log10(x);
    /// ln(1 + x).
    fn log1pf(x: f32) -> f32 = log::ln_1p(x);
    /// x^y.
    fn powf(x: f32, y: f32) -> f32 = log::pow(x, y);
    /// x^n.
    fn powif(x: f32, n: i32) -> f32 = log::powi(x, n);
    /// The cube root.
    fn cbrtf(x: f32) -> f32 = root::cbrt_single(x);
    /// 1 / ∛x.
    fn rcbrtf(x: f32) -> f32 = root::rcbrt(x);
    /// √(x² + y²).
    fn hypotf(x: f32, y: f32) -> f32 = root::hypot(x, y);
    /// 1 / √(x² + y²).
    fn rhypotf(x: f32, y: f32) -> f32 = root::rhypot(x, y);
    /// √(x² + y² + z²).
    fn norm3df(x: f32, y: f32, z: f32) -> f32 = root::norm([x, y, z].into_iter());
    /// 1 / √(x² + y² + z²).
    fn rnorm3df(x: f32, y: f32, z: f32) -> f32 = root::rnorm([x, y, z].into_iter());
    /// √(x² + y² + z² + w²).
    fn norm4df(x: f32, y: f32, z: f32, w: f32) -> f32 = root::norm([x, y, z, w].into_iter());
    /// 1 / √(x² + y² + z² + w²).
    fn rnorm4df(x: f32, y: f32, z: f32, w: f32) -> f32 = root::rnorm([x, y, z, w].into_iter());
    /// The length of the vector of `n` components at `x`.
    fn normf(n: i32, x: *const f32) -> f32 =
        // SAFETY: the caller's promise.
        root::norm(unsafe { components(n, x) });
    /// 1 / the length of the vector of `n` components at `x`.
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
