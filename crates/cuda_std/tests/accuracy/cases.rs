//! Which functions are measured, where, and against what.

use super::reference::{Big, Reference, big};
use cuda_std::intrinsics;

/// A function of one argument.
pub struct One {
    pub name: &'static str,
    pub name_32: &'static str,
    pub double: unsafe fn(f64) -> f64,
    pub single: unsafe fn(f32) -> f32,
    pub reference: fn(&mut Reference, f64) -> Big,
    /// Where its value is finite; the ends are inputs too, except an end at zero.
    pub domain: (f64, f64),
    /// Half of the inputs lie within ±this.
    pub hot: f64,
}

const ALL: (f64, f64) = (-f64::MAX, f64::MAX);

macro_rules! one {
    ($($double:ident $single:ident $domain:tt $hot:literal: $reference:expr;)*) => {
        /// All of them.
        pub const ONE: &[One] = &[$(One {
            name: stringify!($double),
            name_32: stringify!($single),
            double: intrinsics::$double,
            single: intrinsics::$single,
            reference: $reference,
            domain: $domain,
            hot: $hot,
        }),*];
    };
}

one! {
    sin sinf ALL 10.0: |r, x| r.sin(&big(x));
    cos cosf ALL 10.0: |r, x| r.cos(&big(x));
    tan tanf ALL 10.0: |r, x| r.sin(&big(x)) / r.cos(&big(x));
    sinpi sinpif ALL 4.0: |r, x| { let angle = r.half_turns(x); if x % 1.0 == 0.0 { big(0.0) } else { r.sin(&angle) } };
    cospi cospif ALL 4.0: |r, x| { let angle = r.half_turns(x); r.cos(&angle).or_zero() };
    asin asinf (-1.0, 1.0) 1.0: |r, x| r.asin(&big(x));
    acos acosf (-1.0, 1.0) 1.0: |r, x| r.acos(&big(x));
    atan atanf ALL 5.0: |r, x| r.atan(&big(x));
    sinh sinhf (-709.0, 709.0) 20.0: |r, x| r.sinh(&big(x));
    cosh coshf (-709.0, 709.0) 20.0: |r, x| r.cosh(&big(x));
    tanh tanhf ALL 4.0: |r, x| r.tanh(&big(x));
    asinh asinhf ALL 10.0: |r, x| r.asinh(&big(x));
    acosh acoshf (1.0, f64::MAX) 10.0: |r, x| r.acosh(&big(x));
    atanh atanhf (-1.0, 1.0) 1.0: |r, x| r.atanh(&big(x));
    exp expf (-760.0, 720.0) 80.0: |r, x| r.exp(&big(x));
    exp2 exp2f (-1080.0, 1030.0) 120.0: |r, x| r.pow(&big(2.0), &big(x));
    exp10 exp10f (-330.0, 310.0) 38.0: |r, x| r.pow(&big(10.0), &big(x));
    expm1 expm1f (-760.0, 720.0) 5.0: |r, x| r.exp_m1(&big(x));
    log logf (0.0, f64::MAX) 3.0: |r, x| r.ln(&big(x));
    log2 log2f (0.0, f64::MAX) 3.0: |r, x| r.ln(&big(x)) / r.ln(&big(2.0));
    log10 log10f (0.0, f64::MAX) 3.0: |r, x| r.ln(&big(x)) / r.ln(&big(10.0));
    log1p log1pf (-1.0, f64::MAX) 2.0: |r, x| r.ln_1p(&big(x));
    cbrt cbrtf ALL 10.0: |r, x| r.cbrt(&big(x));
    rcbrt rcbrtf ALL 10.0: |r, x| big(1.0) / r.cbrt(&big(x));
    rsqrt frsqrt_rn (0.0, f64::MAX) 10.0: |_, x| big(1.0) / big(x).sqrt();
    erf erff ALL 6.0: |r, x| r.erf(&big(x));
    erfc erfcf (-20.0, 27.0) 10.0: |r, x| r.erfc(&big(x));
    erfcx erfcxf (-26.0, 1e6) 10.0: |r, x| r.erfcx(&big(x));
    normcdf normcdff (-38.0, 20.0) 10.0: |r, x| r.norm_cdf(&big(x));
    tgamma tgammaf (-170.5, 171.5) 10.0: |r, x| r.gamma(x);
    lgamma lgammaf (0.0, 1e300) 10.0: |r, x| r.ln_gamma(&big(x)).or_zero();
    cyl_bessel_i0 cyl_bessel_i0f (-700.0, 700.0) 10.0: |r, x| r.bessel_i(0, &big(x));
    cyl_bessel_i1 cyl_bessel_i1f (-700.0, 700.0) 10.0: |r, x| r.bessel_i(1, &big(x));
}

/// A function of two arguments.
pub struct Two {
    pub name: &'static str,
    pub name_32: &'static str,
    pub double: unsafe fn(f64, f64) -> f64,
    pub single: unsafe fn(f32, f32) -> f32,
    pub reference: fn(&mut Reference, f64, f64) -> Big,
    /// Only inputs with x > 0.
    pub positive: bool,
}

/// All of them.
pub const TWO: &[Two] = &[
    Two {
        name: "pow",
        name_32: "powf",
        double: intrinsics::pow,
        single: intrinsics::powf,
        reference: |r, x, y| r.pow(&big(x), &big(y)),
        positive: true,
    },
    Two {
        name: "atan2",
        name_32: "atan2f",
        double: intrinsics::atan2,
        single: intrinsics::atan2f,
        reference: |r, y, x| r.atan2(&big(y), &big(x)),
        positive: false,
    },
    Two {
        name: "hypot",
        name_32: "hypotf",
        double: intrinsics::hypot,
        single: intrinsics::hypotf,
        reference: |_, x, y| (big(x).square() + big(y).square()).sqrt(),
        positive: false,
    },
    Two {
        name: "rhypot",
        name_32: "rhypotf",
        double: intrinsics::rhypot,
        single: intrinsics::rhypotf,
        reference: |_, x, y| big(1.0) / (big(x).square() + big(y).square()).sqrt(),
        positive: false,
    },
];
