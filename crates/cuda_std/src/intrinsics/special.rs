//! Error, gamma and Bessel functions.

use crate::math::special;

libdevice! {
    /// The error function 2/√π · ∫ e^(-t²) dt from 0 to x.
    fn erf(x: f64) -> f64 = special::erf(x);
    /// 1 - erf(x).
    fn erfc(x: f64) -> f64 = special::erfc(x);
    /// e^(x²) · erfc(x).
    fn erfcx(x: f64) -> f64 = special::erfcx(x);
    /// The inverse of erf.
    fn erfinv(x: f64) -> f64 = special::erf_inv(x);
    /// The inverse of erfc.
    fn erfcinv(x: f64) -> f64 = special::erfc_inv(x);
    /// The distribution function of the standard normal distribution.
    fn normcdf(x: f64) -> f64 = special::norm_cdf(x);
    /// The inverse of normcdf.
    fn normcdfinv(x: f64) -> f64 = special::norm_cdf_inv(x);
    /// ln |Γ(x)|.
    fn lgamma(x: f64) -> f64 = special::ln_gamma(x);
    /// The gamma function.
    fn tgamma(x: f64) -> f64 = special::gamma(x);
    /// The Bessel function of the first kind, order 0.
    fn j0(x: f64) -> f64 = special::j0(x);
    /// The Bessel function of the first kind, order 1.
    fn j1(x: f64) -> f64 = special::j1(x);
    /// The Bessel function of the first kind, order n >= 0.
    fn jn(n: i32, x: f64) -> f64 = special::jn(n, x);
    /// The Bessel function of the second kind, order 0.
    fn y0(x: f64) -> f64 = special::y0(x);
    /// The Bessel function of the second kind, order 1.
    fn y1(x: f64) -> f64 = special::y1(x);
    /// The Bessel function of the second kind, order n >= 0.
    fn yn(n: i32, x: f64) -> f64 = special::yn(n, x);
    /// The modified Bessel function of the first kind, order 0.
    fn cyl_bessel_i0(x: f64) -> f64 = special::i0(x);
    /// The modified Bessel function of the first kind, order 1.
    fn cyl_bessel_i1(x: f64) -> f64 = special::i1(x);
    /// The error function 2/√π · ∫ e^(-t²) dt from 0 to x.
    fn erff(x: f32) -> f32 = special::erf_single(x);
    /// 1 - erf(x).
    fn erfcf(x: f32) -> f32 = special::erfc(f64::from(x)) as f32;
    /// e^(x²) · erfc(x).
    fn erfcxf(x: f32) -> f32 = special::erfcx(f64::from(x)) as f32;
    /// The inverse of erf.
    fn erfinvf(x: f32) -> f32 = special::erf_inv(f64::from(x)) as f32;
    /// The inverse of erfc.
    fn erfcinvf(x: f32) -> f32 = special::erfc_inv(f64::from(x)) as f32;
    /// The distribution function of the standard normal distribution.
    fn normcdff(x: f32) -> f32 = special::norm_cdf(f64::from(x)) as f32;
    /// The inverse of normcdf.
    fn normcdfinvf(x: f32) -> f32 = special::norm_cdf_inv(f64::from(x)) as f32;
    /// ln |Γ(x)|.
    fn lgammaf(x: f32) -> f32 = special::ln_gamma(f64::from(x)) as f32;
    /// The gamma function.
    fn tgammaf(x: f32) -> f32 = special::gamma(f64::from(x)) as f32;
    /// The Bessel function of the first kind, order 0.
    fn j0f(x: f32) -> f32 = special::j0(f64::from(x)) as f32;
    /// The Bessel function of the first kind, order 1.
    fn j1f(x: f32) -> f32 = special::j1(f64::from(x)) as f32;
    /// The Bessel function of the first kind, order n >= 0.
    fn jnf(n: i32, x: f32) -> f32 = special::jn(n, f64::from(x)) as f32;
    /// The Bessel function of the second kind, order 0.
    fn y0f(x: f32) -> f32 = special::y0(f64::from(x)) as f32;
    /// The Bessel function of the second kind, order 1.
    fn y1f(x: f32) -> f32 = special::y1(f64::from(x)) as f32;
    /// The Bessel function of the second kind, order n >= 0.
    fn ynf(n: i32, x: f32) -> f32 = special::yn(n, f64::from(x)) as f32;
    /// The modified Bessel function of the first kind, order 0.
    fn cyl_bessel_i0f(x: f32) -> f32 = special::i0(f64::from(x)) as f32;
    /// The modified Bessel function of the first kind, order 1.
    fn cyl_bessel_i1f(x: f32) -> f32 = special::i1(f64::from(x)) as f32;
}
