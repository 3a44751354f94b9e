//! Rounding to integers, remainders, and parts of floats: exact or correctly rounded.

use crate::math::real::Real;
use crate::math::{remainder, root, trig};

/// One instruction on the device.
macro_rules! extreme {
    ($op:ident $float:ident $text:literal, $x:ident, $y:ident) => {{
        #[cfg(target_os = "cuda")]
        {
            instruction!($text $float $float, $x, $y)
        }
        #[cfg(not(target_os = "cuda"))]
        {
            remainder::$op($x, $y)
        }
    }};
}

libdevice! {
    /// x · y + z, rounded once.
    fn fma(x: f64, y: f64, z: f64) -> f64 = x.fma(y, z);
    /// √x, correctly rounded.
    fn sqrt(x: f64) -> f64 = x.root();
    /// The least integer not below x.
    fn ceil(x: f64) -> f64 = x.round_up();
    /// The greatest integer not above x.
    fn floor(x: f64) -> f64 = x.round_down();
    /// The integer part.
    fn trunc(x: f64) -> f64 = x.round_to_zero();
    /// The nearest integer, ties to even.
    fn rint(x: f64) -> f64 = x.nearest();
    /// The nearest integer, ties to even.
    fn nearbyint(x: f64) -> f64 = x.nearest();
    /// The nearest integer, ties away from zero.
    fn round(x: f64) -> f64 = remainder::round(x);
    /// |x|.
    fn fabs(x: f64) -> f64 = x.magnitude();
    /// |x| with the sign of y.
    fn copysign(x: f64, y: f64) -> f64 = x.with_sign(y);
    /// x - y where that is positive, else 0.
    fn fdim(x: f64, y: f64) -> f64 = remainder::fdim(x, y);
    /// The greater one, 0 above -0; a NaN counts as missing.
    fn fmax(x: f64, y: f64) -> f64 = extreme!(fmax f64 "max.f64", x, y);
    /// The smaller one, -0 below 0; a NaN counts as missing.
    fn fmin(x: f64, y: f64) -> f64 = extreme!(fmin f64 "min.f64", x, y);
    /// The remainder of the division rounded towards zero, exact.
    fn fmod(x: f64, y: f64) -> f64 = remainder::fmod(x, y);
    /// The remainder of the division rounded to the nearest integer, exact.
    fn remainder(x: f64, y: f64) -> f64 = remainder::remquo(x, y).0;
    /// The next float after x in the direction of y.
    fn nextafter(x: f64, y: f64) -> f64 = remainder::next_after(x, y);
    /// x · 2^n, rounded once.
    fn ldexp(x: f64, n: i32) -> f64 = remainder::ldexp(x, n);
    /// x · 2^n, rounded once.
    fn scalbn(x: f64, n: i32) -> f64 = remainder::ldexp(x, n);
    /// The exponent, as a float.
    fn logb(x: f64) -> f64 = remainder::logb(x);
    /// The exponent; `i32::MIN` for 0 and NaN, `i32::MAX` for infinities.
    fn ilogb(x: f64) -> i32 = remainder::ilogb(x);
    /// 1 if x is neither infinite nor NaN, else 0.
    fn isfinited(x: f64) -> i32 = i32::from(Real::is_finite(x));
    /// 1 if x is infinite, else 0.
    fn isinfd(x: f64) -> i32 = i32::from(x.is_infinite());
    /// 1 if x is NaN, else 0.
    fn isnand(x: f64) -> i32 = i32::from(Real::is_nan(x));
    /// 1 if the sign bit is set, else 0.
    fn signbitd(x: f64) -> i32 = i32::from(Real::is_negative(x));
    /// A quiet NaN.
    fn nan(_tag: *const i8) -> f64 = f64::NAN;
    /// 1 / √x.
    fn rsqrt(x: f64) -> f64 = root::rsqrt(x);
    /// The fraction of x = fraction · 2^exponent, in ±[½, 1).
    fn frexp(x: f64, exponent: *mut i32) -> f64 = {
        let (fraction, power) = remainder::frexp(x);
        // SAFETY: the caller's promise.
        unsafe { *exponent = power };
        fraction
    };
    /// Returns the fraction and stores the integer part through the pointer, both with the sign of x.
    fn modf(x: f64, whole: *mut f64) -> f64 = {
        let (fraction, integer) = remainder::modf(x);
        // SAFETY: the caller's promise.
        unsafe { *whole = integer };
        fraction
    };
    /// [`remainder`]; stores the lowest three bits of the quotient, with its sign.
    fn remquo(x: f64, y: f64, quotient: *mut i32) -> f64 = {
        let (rest, bits) = remainder::remquo(x, y);
        // SAFETY: the caller's promise.
        unsafe { *quotient = bits };
        rest
    };
    /// Sine and cosine.
    fn sincos(x: f64, sin: *mut f64, cos: *mut f64) = {
        let (s, c) = trig::sin_cos(x);
        // SAFETY: the caller's promise.
        unsafe {
            *sin = s;
            *cos = c;
        }
    };
    /// sin(π·x) and cos(π·x).
    fn sincospi(x: f64, sin: *mut f64, cos: *mut f64) = {
        let (s, c) = trig::sin_cos_pi(x);
        // SAFETY: the caller's promise.
        unsafe {
            *sin = s;
            *cos = c;
        }
    };
    /// x · y + z, rounded once.
    fn fmaf(x: f32, y: f32, z: f32) -> f32 = x.fma(y, z);
    /// √x, correctly rounded.
    fn sqrtf(x: f32) -> f32 = x.root();
    /// The least integer not below x.
    fn ceilf(x: f32) -> f32 = x.round_up();
    /// The greatest integer not above x.
    fn floorf(x: f32) -> f32 = x.round_down();
    /// The integer part.
    fn truncf(x: f32) -> f32 = x.round_to_zero();
    /// The nearest integer, ties to even.
    fn rintf(x: f32) -> f32 = x.nearest();
    /// The nearest integer, ties to even.
    fn nearbyintf(x: f32) -> f32 = x.nearest();
    /// The nearest integer, ties away from zero.
    fn roundf(x: f32) -> f32 = remainder::round(x);
    /// |x|.
    fn fabsf(x: f32) -> f32 = x.magnitude();
    /// |x| with the sign of y.
    fn copysignf(x: f32, y: f32) -> f32 = x.with_sign(y);
    /// x - y where that is positive, else 0.
    fn fdimf(x: f32, y: f32) -> f32 = remainder::fdim(x, y);
    /// The greater one, 0 above -0; a NaN counts as missing.
    fn fmaxf(x: f32, y: f32) -> f32 = extreme!(fmax f32 "max.f32", x, y);
    /// The smaller one, -0 below 0; a NaN counts as missing.
    fn fminf(x: f32, y: f32) -> f32 = extreme!(fmin f32 "min.f32", x, y);
    /// The remainder of the division rounded towards zero, exact.
    fn fmodf(x: f32, y: f32) -> f32 = remainder::fmod(x, y);
    /// The remainder of the division rounded to the nearest integer, exact.
    fn remainderf(x: f32, y: f32) -> f32 = remainder::remquo(x, y).0;
    /// The next float after x in the direction of y.
    fn nextafterf(x: f32, y: f32) -> f32 = remainder::next_after(x, y);
    /// x · 2^n, rounded once.
    fn ldexpf(x: f32, n: i32) -> f32 = remainder::ldexp(x, n);
    /// x · 2^n, rounded once.
    fn scalbnf(x: f32, n: i32) -> f32 = remainder::ldexp(x, n);
    /// The exponent, as a float.
    fn logbf(x: f32) -> f32 = remainder::logb(x);
    /// The exponent; `i32::MIN` for 0 and NaN, `i32::MAX` for infinities.
    fn ilogbf(x: f32) -> i32 = remainder::ilogb(x);
    /// 1 if x is neither infinite nor NaN, else 0.
    fn finitef(x: f32) -> i32 = i32::from(Real::is_finite(x));
    /// 1 if x is infinite, else 0.
    fn isinff(x: f32) -> i32 = i32::from(x.is_infinite());
    /// 1 if x is NaN, else 0.
    fn isnanf(x: f32) -> i32 = i32::from(Real::is_nan(x));
    /// 1 if the sign bit is set, else 0.
    fn signbitf(x: f32) -> i32 = i32::from(Real::is_negative(x));
    /// A quiet NaN.
    fn nanf(_tag: *const i8) -> f32 = f32::NAN;
    /// x clamped to [0, 1]; 0 for NaN.
    fn saturatef(x: f32) -> f32 = saturate(x);
    /// The fraction of x = fraction · 2^exponent, in ±[½, 1).
    fn frexpf(x: f32, exponent: *mut i32) -> f32 = {
        let (fraction, power) = remainder::frexp(x);
        // SAFETY: the caller's promise.
        unsafe { *exponent = power };
        fraction
    };
    /// The fraction, and the integer part through the pointer, both with the sign of x.
    fn modff(x: f32, whole: *mut f32) -> f32 = {
        let (fraction, integer) = remainder::modf(x);
        // SAFETY: the caller's promise.
        unsafe { *whole = integer };
        fraction
    };
    /// [`remainderf`]; stores the lowest three bits of the quotient, with its sign.
    fn remquof(x: f32, y: f32, quotient: *mut i32) -> f32 = {
        let (rest, bits) = remainder::remquo(x, y);
        // SAFETY: the caller's promise.
        unsafe { *quotient = bits };
        rest
    };
    /// Sine and cosine.
    fn sincosf(x: f32, sin: *mut f32, cos: *mut f32) = {
        let (s, c) = trig::sin_cos(x);
        // SAFETY: the caller's promise.
        unsafe {
            *sin = s;
            *cos = c;
        }
    };
    /// sin(π·x) and cos(π·x).
    fn sincospif(x: f32, sin: *mut f32, cos: *mut f32) = {
        let (s, c) = trig::sin_cos_pi(x);
        // SAFETY: the caller's promise.
        unsafe {
            *sin = s;
            *cos = c;
        }
    };
}

/// x limited to [0, 1]; 0 for NaN.
#[inline(always)]
pub(crate) fn saturate(x: f32) -> f32 {
    if x > 0.0 { x.min(1.0) } else { 0.0 }
}
