//! `f32` and `f64` methods that `core` does not have.

use crate::math::real::Real;
use crate::math::{double, remainder, single};

mod private {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// The methods of `std`'s floats, for kernels, with the same names and meanings.
///
/// They also work on the host, with the same code. There `std`'s own methods of the same name take precedence wherever
/// `std` is in scope.
///
/// Each method states its error bound; a method without one is exact or correctly rounded. `docs/math-accuracy.md` has
/// the worst errors found.
pub trait GpuFloat: Copy + private::Sealed {
    /// The greatest integer not above `self`.
    fn floor(self) -> Self;

    /// The least integer not below `self`.
    fn ceil(self) -> Self;

    /// The nearest integer, ties away from zero.
    fn round(self) -> Self;

    /// The integer part.
    fn trunc(self) -> Self;

    /// The fraction, with the sign of `self`.
    fn fract(self) -> Self;

    /// The absolute value.
    fn abs(self) -> Self;

    /// 1 with the sign of `self`; NaN for NaN.
    fn signum(self) -> Self;

    /// The absolute value with the sign of `sign`.
    fn copysign(self, sign: Self) -> Self;

    /// `self · a + b`, rounded once.
    fn mul_add(self, a: Self, b: Self) -> Self;

    /// The quotient of the division with a non-negative remainder.
    fn div_euclid(self, rhs: Self) -> Self;

    /// The remainder of that division: exact unless `self` is negative.
    fn rem_euclid(self, rhs: Self) -> Self;

    /// `self` to an integer power. Within 1 ulp.
    fn powi(self, n: i32) -> Self;

    /// `self` to the power `n`. Within 1 ulp.
    fn powf(self, n: Self) -> Self;

    /// The square root, correctly rounded unless the build asks for `fast_sqrt`.
    fn sqrt(self) -> Self;

    /// e to the power `self`. Within 1 ulp.
    fn exp(self) -> Self;

    /// 2 to the power `self`. Within 1 ulp.
    fn exp2(self) -> Self;

    /// The natural logarithm. Within 1 ulp.
    fn ln(self) -> Self;

    /// The logarithm to base `base`. Within 1 ulp.
    fn log(self, base: Self) -> Self;

    /// The logarithm to base 2. Within 1 ulp; 1.5 for `f32`.
    fn log2(self) -> Self;

    /// The logarithm to base 10. Within 1 ulp.
    fn log10(self) -> Self;

    /// The cube root. Within 1 ulp.
    fn cbrt(self) -> Self;

    /// √(`self`² + `other`²), without intermediate overflow. Within 1 ulp.
    fn hypot(self, other: Self) -> Self;

    /// The sine, for any angle in radians. Within 1 ulp.
    fn sin(self) -> Self;

    /// The cosine, for any angle in radians. Within 1 ulp.
    fn cos(self) -> Self;

    /// The tangent, for any angle in radians. Within 1 ulp.
    fn tan(self) -> Self;

    /// The arc sine. Within 1 ulp; 2.5 for `f32`.
    fn asin(self) -> Self;

    /// The arc cosine. Within 1 ulp; 1.5 for `f32`.
    fn acos(self) -> Self;

    /// The arc tangent. Within 1 ulp; 2 for `f32`.
    fn atan(self) -> Self;

    /// The angle of the point (`other`, `self`). Within 1 ulp.
    fn atan2(self, other: Self) -> Self;

    /// Sine and cosine. Within 1 ulp.
    fn sin_cos(self) -> (Self, Self);

    /// e to the power `self`, minus 1, accurate near 0. Within 1 ulp.
    fn exp_m1(self) -> Self;

    /// ln(1 + `self`), accurate near 0. Within 1 ulp.
    fn ln_1p(self) -> Self;

    /// The hyperbolic sine. Within 1 ulp; 2 for `f32`.
    fn sinh(self) -> Self;

    /// The hyperbolic cosine. Within 1 ulp; 1.5 for `f32`.
    fn cosh(self) -> Self;

    /// The hyperbolic tangent. Within 1 ulp; 2 for `f32`.
    fn tanh(self) -> Self;

    /// The inverse hyperbolic sine. Within 1 ulp; 2 for `f32`.
    fn asinh(self) -> Self;

    /// The inverse hyperbolic cosine. Within 1 ulp; 2.5 for `f32`.
    fn acosh(self) -> Self;

    /// The inverse hyperbolic tangent. Within 1 ulp; 2 for `f32`.
    fn atanh(self) -> Self;
}

#[inline(always)]
fn div_euclid<T: Real>(x: T, y: T) -> T {
    let quotient = (x / y).round_to_zero();
    let negative = remainder::fmod(x, y) < T::ZERO;
    let step = T::ONE.with_sign(y);
    T::select(negative, quotient - step, quotient)
}

#[inline(always)]
fn rem_euclid<T: Real>(x: T, y: T) -> T {
    let rest = remainder::fmod(x, y);
    T::select(rest < T::ZERO, rest + y.magnitude(), rest)
}

macro_rules! gpu_float {
    ($($float:ident $of:ident)*) => {$(
        impl GpuFloat for $float {
            #[inline]
            fn floor(self) -> Self {
                self.round_down()
            }

            #[inline]
            fn ceil(self) -> Self {
                self.round_up()
            }

            #[inline]
            fn round(self) -> Self {
                remainder::round(self)
            }

            #[inline]
            fn trunc(self) -> Self {
                self.round_to_zero()
            }

            #[inline]
            fn fract(self) -> Self {
                self - self.round_to_zero()
            }

            #[inline]
            fn abs(self) -> Self {
                self.magnitude()
            }

            #[inline]
            fn signum(self) -> Self {
                if Real::is_nan(self) { self } else { Real::with_sign(1.0, self) }
            }

            #[inline]
            fn copysign(self, sign: Self) -> Self {
                self.with_sign(sign)
            }

            #[inline]
            fn mul_add(self, a: Self, b: Self) -> Self {
                self.fma(a, b)
            }

            #[inline]
            fn div_euclid(self, rhs: Self) -> Self {
                div_euclid(self, rhs)
            }

            #[inline]
            fn rem_euclid(self, rhs: Self) -> Self {
                rem_euclid(self, rhs)
            }

            #[inline]
            fn powi(self, n: i32) -> Self {
                $of::powi(self, n)
            }

            #[inline]
            fn powf(self, n: Self) -> Self {
                $of::pow(self, n)
            }

            #[inline]
            fn sqrt(self) -> Self {
                self.root()
            }

            #[inline]
            fn exp(self) -> Self {
                $of::exp(self)
            }

            #[inline]
            fn exp2(self) -> Self {
                $of::exp2(self)
            }

            #[inline]
            fn ln(self) -> Self {
                $of::ln(self)
            }

            #[inline]
            fn log(self, base: Self) -> Self {
                $of::log(self, base)
            }

            #[inline]
            fn log2(self) -> Self {
                $of::log2(self)
            }

            #[inline]
            fn log10(self) -> Self {
                $of::log10(self)
            }

            #[inline]
            fn cbrt(self) -> Self {
                $of::cbrt(self)
            }

            #[inline]
            fn hypot(self, other: Self) -> Self {
                $of::hypot(self, other)
            }

            #[inline]
            fn sin(self) -> Self {
                $of::sin(self)
            }

            #[inline]
            fn cos(self) -> Self {
                $of::cos(self)
            }

            #[inline]
            fn tan(self) -> Self {
                $of::tan(self)
            }

            #[inline]
            fn asin(self) -> Self {
                $of::asin(self)
            }

            #[inline]
            fn acos(self) -> Self {
                $of::acos(self)
            }

            #[inline]
            fn atan(self) -> Self {
                $of::atan(self)
            }

            #[inline]
            fn atan2(self, other: Self) -> Self {
                $of::atan2(self, other)
            }

            #[inline]
            fn sin_cos(self) -> (Self, Self) {
                $of::sin_cos(self)
            }

            #[inline]
            fn exp_m1(self) -> Self {
                $of::exp_m1(self)
            }

            #[inline]
            fn ln_1p(self) -> Self {
                $of::ln_1p(self)
            }

            #[inline]
            fn sinh(self) -> Self {
                $of::sinh(self)
            }

            #[inline]
            fn cosh(self) -> Self {
                $of::cosh(self)
            }

            #[inline]
            fn tanh(self) -> Self {
                $of::tanh(self)
            }

            #[inline]
            fn asinh(self) -> Self {
                $of::asinh(self)
            }

            #[inline]
            fn acosh(self) -> Self {
                $of::acosh(self)
            }

            #[inline]
            fn atanh(self) -> Self {
                $of::atanh(self)
            }
        }
    )*};
}

gpu_float!(f32 single f64 double);

#[cfg(test)]
mod tests {
    use super::GpuFloat as G;

    #[test]
    fn base_two_is_not_base_ten() {
        // Upstream's `log2` is its `log10`.
        core::assert_eq!(G::log2(8.0_f32), 3.0);
        core::assert_eq!(G::log2(0.125_f64), -3.0);
        core::assert_eq!(G::log10(1000.0_f32), 3.0);
        core::assert_eq!(G::log(81.0_f64, 3.0), 4.0);
    }

    #[test]
    fn methods_agree_with_std_where_both_are_exact() {
        let values =
            [0.0, -0.0, 0.5, -0.5, 1.5, -2.5, 3.7, -3.7, 1e10, -1e10, 4503599627370495.5, f64::INFINITY];
        for x in values {
            core::assert_eq!(G::floor(x).to_bits(), x.floor().to_bits(), "floor {x}");
            core::assert_eq!(G::ceil(x).to_bits(), x.ceil().to_bits(), "ceil {x}");
            core::assert_eq!(G::round(x).to_bits(), x.round().to_bits(), "round {x}");
            core::assert_eq!(G::trunc(x).to_bits(), x.trunc().to_bits(), "trunc {x}");
            core::assert_eq!(G::signum(x), x.signum(), "signum {x}");
            for y in [1.0, -1.0, 0.7, -2.5, 1e5] {
                core::assert_eq!(G::copysign(x, y).to_bits(), x.copysign(y).to_bits(), "copysign {x} {y}");
                if x.is_finite() {
                    core::assert_eq!(G::rem_euclid(x, y), x.rem_euclid(y), "rem_euclid {x} {y}");
                    core::assert_eq!(G::div_euclid(x, y), x.div_euclid(y), "div_euclid {x} {y}");
                }
            }
        }
        assert!(G::signum(f32::NAN).is_nan());
        core::assert_eq!(
            G::mul_add(1.0 + f64::EPSILON, 1.0 - f64::EPSILON, -1.0),
            -f64::EPSILON * f64::EPSILON
        );
    }
}
