//! Functions of libdevice that `std`'s floats lack.

use crate::intrinsics;
use crate::math::{remainder, trig};
use pastey::paste;

mod private {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// Special functions and others, for `f32` and `f64`, under upstream's names. They also work on the host.
///
/// A function that rounds more than once states its error bound; `docs/math-accuracy.md` has the worst errors found.
pub trait FloatExt: Sized + private::Sealed {
    /// cos(π · `self`). Within 1 ulp.
    fn cospi(self) -> Self;

    /// The error function. Within 1.5 ulp; 1 for `f32`.
    fn error_function(self) -> Self;

    /// 1 - the error function. Within 1.5 ulp; 4 for `f32`.
    fn complementary_error_function(self) -> Self;

    /// The inverse of the complementary error function. Within 2 ulp; 4 for `f32`.
    fn inv_complementary_error_function(self) -> Self;

    /// e^(`self`²) times the complementary error function. Within 2 ulp; 4 for `f32`.
    fn scaled_complementary_error_function(self) -> Self;

    /// The Bessel function of the first kind, order 0. Within 8 ulp up to 8; beyond, 2⁻⁵² absolute.
    fn j0(self) -> Self;

    /// The Bessel function of the first kind, order 1. Within 8 ulp up to 8; beyond, 2⁻⁵² absolute.
    fn j1(self) -> Self;

    /// The Bessel function of the first kind of an order >= 0.
    fn jn(self, order: i32) -> Self;

    /// `self` · 2^`exp`, rounded once.
    fn ldexp(self, exp: i32) -> Self;

    /// ln |Γ(`self`)|. Within 2 ulp for positive `self`, 3.5 for `f32`; below 0 relative to the greater of the result
    /// and 1.
    fn log_gamma(self) -> Self;

    /// ln(1 + `self`). Within 1 ulp.
    fn log1p(self) -> Self;

    /// The cumulative distribution function of the standard normal distribution. Within 2 ulp; 4 for `f32`.
    fn norm_cdf(self) -> Self;

    /// The inverse of [`norm_cdf`](Self::norm_cdf). Within 2 ulp; 4 for `f32`.
    fn inv_norm_cdf(self) -> Self;

    /// 1 / the cube root. Within 1 ulp.
    fn rcbrt(self) -> Self;

    /// `self` · 2^`exp`, rounded once.
    fn scale_by_n(self, exp: i32) -> Self;

    /// sin(π · `self`). Within 1 ulp.
    fn sinpi(self) -> Self;

    /// The gamma function. Within 2.5 ulp; 6 for `f32`.
    fn gamma(self) -> Self;

    /// The Bessel function of the second kind, order 0. Within 32 ulp up to 8; beyond, 2⁻⁵² absolute.
    fn y0(self) -> Self;

    /// The Bessel function of the second kind, order 1. Within 32 ulp up to 8; beyond, 2⁻⁵² absolute.
    fn y1(self) -> Self;

    /// The Bessel function of the second kind of an order >= 0.
    fn yn(self, order: i32) -> Self;

    /// The exponent; `i32::MIN` for 0 and NaN, `i32::MAX` for infinities.
    fn unbiased_exp(self) -> i32;

    /// The fraction in ±[½, 1) and the exponent of `self` = fraction · 2^exponent.
    fn frexp(self) -> (Self, i32);

    /// `self` clamped to [0, 1]; 0 for NaN.
    fn saturate(self) -> Self;

    /// sin(π · `self`) and cos(π · `self`). Within 1 ulp.
    fn sincospi(self) -> (Self, Self);
}

macro_rules! float_ext {
    ($float:ident $($suffix:ident)?) => { float_ext!(@paste $float ($($suffix)?)); };
    (@paste $float:ident ($($suffix:ident)?)) => { paste! {
        impl FloatExt for $float {
            #[inline]
            fn cospi(self) -> Self {
                // SAFETY: it takes no pointer.
                unsafe { intrinsics::[<cospi $($suffix)?>](self) }
            }

            #[inline]
            fn error_function(self) -> Self {
                // SAFETY: it takes no pointer.
                unsafe { intrinsics::[<erf $($suffix)?>](self) }
            }

            #[inline]
            fn complementary_error_function(self) -> Self {
                // SAFETY: it takes no pointer.
                unsafe { intrinsics::[<erfc $($suffix)?>](self) }
            }

            #[inline]
            fn inv_complementary_error_function(self) -> Self {
                // SAFETY: it takes no pointer.
                unsafe { intrinsics::[<erfcinv $($suffix)?>](self) }
            }

            #[inline]
            fn scaled_complementary_error_function(self) -> Self {
                // SAFETY: it takes no pointer.
                unsafe { intrinsics::[<erfcx $($suffix)?>](self) }
            }

            #[inline]
            fn j0(self) -> Self {
                // SAFETY: it takes no pointer.
                unsafe { intrinsics::[<j0 $($suffix)?>](self) }
            }

            #[inline]
            fn j1(self) -> Self {
                // SAFETY: it takes no pointer.
                unsafe { intrinsics::[<j1 $($suffix)?>](self) }
            }

            #[inline]
            fn jn(self, order: i32) -> Self {
                // SAFETY: it takes no pointer.
                unsafe { intrinsics::[<jn $($suffix)?>](order, self) }
            }

            #[inline]
            fn ldexp(self, exp: i32) -> Self {
                // SAFETY: it takes no pointer.
                unsafe { intrinsics::[<ldexp $($suffix)?>](self, exp) }
            }

            #[inline]
            fn log_gamma(self) -> Self {
                // SAFETY: it takes no pointer.
                unsafe { intrinsics::[<lgamma $($suffix)?>](self) }
            }

            #[inline]
            fn log1p(self) -> Self {
                // SAFETY: it takes no pointer.
                unsafe { intrinsics::[<log1p $($suffix)?>](self) }
            }

            #[inline]
            fn norm_cdf(self) -> Self {
                // SAFETY: it takes no pointer.
                unsafe { intrinsics::[<normcdf $($suffix)?>](self) }
            }

            #[inline]
            fn inv_norm_cdf(self) -> Self {
                // SAFETY: it takes no pointer.
                unsafe { intrinsics::[<normcdfinv $($suffix)?>](self) }
            }

            #[inline]
            fn rcbrt(self) -> Self {
                // SAFETY: it takes no pointer.
                unsafe { intrinsics::[<rcbrt $($suffix)?>](self) }
            }

            #[inline]
            fn scale_by_n(self, exp: i32) -> Self {
                // SAFETY: it takes no pointer.
                unsafe { intrinsics::[<scalbn $($suffix)?>](self, exp) }
            }

            #[inline]
            fn sinpi(self) -> Self {
                // SAFETY: it takes no pointer.
                unsafe { intrinsics::[<sinpi $($suffix)?>](self) }
            }

            #[inline]
            fn gamma(self) -> Self {
                // SAFETY: it takes no pointer.
                unsafe { intrinsics::[<tgamma $($suffix)?>](self) }
            }

            #[inline]
            fn y0(self) -> Self {
                // SAFETY: it takes no pointer.
                unsafe { intrinsics::[<y0 $($suffix)?>](self) }
            }

            #[inline]
            fn y1(self) -> Self {
                // SAFETY: it takes no pointer.
                unsafe { intrinsics::[<y1 $($suffix)?>](self) }
            }

            #[inline]
            fn yn(self, order: i32) -> Self {
                // SAFETY: it takes no pointer.
                unsafe { intrinsics::[<yn $($suffix)?>](order, self) }
            }

            #[inline]
            fn unbiased_exp(self) -> i32 {
                // SAFETY: it takes no pointer.
                unsafe { intrinsics::[<ilogb $($suffix)?>](self) }
            }

            #[inline]
            fn frexp(self) -> (Self, i32) {
                remainder::frexp(self)
            }

            #[inline]
            fn saturate(self) -> Self {
                if self > 0.0 { self.min(1.0) } else { 0.0 }
            }

            #[inline]
            fn sincospi(self) -> (Self, Self) {
                trig::sin_cos_pi(self)
            }
        }
    }};
}

float_ext!(f32 f);
float_ext!(f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_from_the_definitions() {
        core::assert_eq!(8.0_f32.rcbrt(), 0.5);
        core::assert_eq!(0.5_f64.sinpi(), 1.0);
        core::assert_eq!(
            0.25_f32.sincospi(),
            (core::f32::consts::FRAC_1_SQRT_2, core::f32::consts::FRAC_1_SQRT_2)
        );
        core::assert_eq!(FloatExt::gamma(5.0_f64), 24.0);
        core::assert_eq!(1.0_f64.log_gamma(), 0.0);
        core::assert_eq!(0.0_f32.norm_cdf(), 0.5);
        core::assert_eq!(0.5_f64.inv_norm_cdf(), 0.0);
        core::assert_eq!(12.0_f32.frexp(), (0.75, 4));
        core::assert_eq!(0.75_f64.ldexp(4), 12.0);
        core::assert_eq!(12.0_f32.unbiased_exp(), 3);
        core::assert_eq!(f32::NAN.saturate(), 0.0);
        core::assert_eq!((-3.0_f64).saturate(), 0.0);
        core::assert_eq!(3.0_f64.saturate(), 1.0);
        core::assert_eq!(0.0_f64.j0(), 1.0);
        core::assert_eq!(0.0_f32.jn(3), 0.0);
        core::assert_eq!(0.0_f64.y0(), f64::NEG_INFINITY);
    }
}
