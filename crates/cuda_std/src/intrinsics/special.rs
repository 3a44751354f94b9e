//! Error, gamma and Bessel functions.

use crate::math::{single, special};

libdevice! {
    /// The error function 2/√π · ∫ e^(-t²) dt from 0 to x. Within 1.5 ulp.
    fn erf(x: f64) -> f64 = special::erf(x);
    /// 1 - erf(x). Within 1.5 ulp.
    fn erfc(x: f64) -> f64 = special::erfc(x);
    /// e^(x²) · erfc(x). Within 2 ulp.
    fn erfcx(x: f64) -> f64 = special::erfcx(x);
    /// The inverse of erf. Within 1 ulp.
    fn erfinv(x: f64) -> f64 = special::erf_inv(x);
    /// The inverse of erfc. Within 2 ulp.
    fn erfcinv(x: f64) -> f64 = special::erfc_inv(x);
    /// The cumulative distribution function of the standard normal distribution. Within 2 ulp.
    fn normcdf(x: f64) -> f64 = special::norm_cdf(x);
    /// The inverse of normcdf. Within 2 ulp.
    fn normcdfinv(x: f64) -> f64 = special::norm_cdf_inv(x);
    /// ln |Γ(x)|. Within 2 ulp for x > 0; below 0 relative to the greater of the result and 1.
    fn lgamma(x: f64) -> f64 = special::ln_gamma(x);
    /// The gamma function. Within 2.5 ulp.
    fn tgamma(x: f64) -> f64 = special::gamma(x);
    /// The Bessel function of the first kind, order 0. Within 8 ulp up to 8; beyond, 2⁻⁵² absolute.
    fn j0(x: f64) -> f64 = special::j0(x);
    /// The Bessel function of the first kind, order 1. Within 8 ulp up to 8; beyond, 2⁻⁵² absolute.
    fn j1(x: f64) -> f64 = special::j1(x);
    /// The Bessel function of the first kind, order n >= 0. Within 10⁻¹³ away from the zeros.
    fn jn(n: i32, x: f64) -> f64 = special::jn(n, x);
    /// The Bessel function of the second kind, order 0. Within 32 ulp up to 8; beyond, 2⁻⁵² absolute.
    fn y0(x: f64) -> f64 = special::y0(x);
    /// The Bessel function of the second kind, order 1. Within 32 ulp up to 8; beyond, 2⁻⁵² absolute.
    fn y1(x: f64) -> f64 = special::y1(x);
    /// The Bessel function of the second kind, order n >= 0. Within 10⁻¹³ away from the zeros.
    fn yn(n: i32, x: f64) -> f64 = special::yn(n, x);
    /// The modified Bessel function of the first kind, order 0. Within 5 ulp.
    fn cyl_bessel_i0(x: f64) -> f64 = special::i0(x);
    /// The modified Bessel function of the first kind, order 1. Within 5 ulp.
    fn cyl_bessel_i1(x: f64) -> f64 = special::i1(x);
    /// The error function 2/√π · ∫ e^(-t²) dt from 0 to x. Within 1 ulp.
    fn erff(x: f32) -> f32 = single::erf(x);
    /// 1 - erf(x). Within 4 ulp.
    fn erfcf(x: f32) -> f32 = single::erfc(x);
    /// e^(x²) · erfc(x). Within 4 ulp.
    fn erfcxf(x: f32) -> f32 = single::erfcx(x);
    /// The inverse of erf. Within 2.5 ulp.
    fn erfinvf(x: f32) -> f32 = single::erf_inv(x);
    /// The inverse of erfc. Within 4 ulp.
    fn erfcinvf(x: f32) -> f32 = single::erfc_inv(x);
    /// The cumulative distribution function of the standard normal distribution. Within 4 ulp.
    fn normcdff(x: f32) -> f32 = single::norm_cdf(x);
    /// The inverse of normcdf. Within 4 ulp.
    fn normcdfinvf(x: f32) -> f32 = single::norm_cdf_inv(x);
    /// ln |Γ(x)|. Within 3.5 ulp for x > 0; below 0 relative to the greater of the result and 1.
    fn lgammaf(x: f32) -> f32 = single::ln_gamma(x);
    /// The gamma function. Within 6 ulp.
    fn tgammaf(x: f32) -> f32 = single::gamma(x);
    /// The Bessel function of the first kind, order 0. The `f64` function, rounded.
    fn j0f(x: f32) -> f32 = special::j0(f64::from(x)) as f32;
    /// The Bessel function of the first kind, order 1. The `f64` function, rounded.
    fn j1f(x: f32) -> f32 = special::j1(f64::from(x)) as f32;
    /// The Bessel function of the first kind, order n >= 0. The `f64` function, rounded.
    fn jnf(n: i32, x: f32) -> f32 = special::jn(n, f64::from(x)) as f32;
    /// The Bessel function of the second kind, order 0. The `f64` function, rounded.
    fn y0f(x: f32) -> f32 = special::y0(f64::from(x)) as f32;
    /// The Bessel function of the second kind, order 1. The `f64` function, rounded.
    fn y1f(x: f32) -> f32 = special::y1(f64::from(x)) as f32;
    /// The Bessel function of the second kind, order n >= 0. The `f64` function, rounded.
    fn ynf(n: i32, x: f32) -> f32 = special::yn(n, f64::from(x)) as f32;
    /// The modified Bessel function of the first kind, order 0. Within 5 ulp.
    fn cyl_bessel_i0f(x: f32) -> f32 = single::i0(x);
    /// The modified Bessel function of the first kind, order 1. Within 5 ulp.
    fn cyl_bessel_i1f(x: f32) -> f32 = single::i1(x);
}
