//! Infinities, zeros, NaN and their neighbours, against C's own library; and the functions that are exact, against the
//! crate `libm`.

// Unsafe in name only, as upstream declares them: on the host they only compute, and pointers are to locals.
#![allow(clippy::undocumented_unsafe_blocks)]

use cuda_std::intrinsics as gpu;

const VALUES: [f64; 23] = [
    0.0,
    -0.0,
    f64::INFINITY,
    -f64::INFINITY,
    f64::NAN,
    1.0,
    -1.0,
    2.0,
    -2.0,
    0.5,
    -0.5,
    3.0,
    -3.0,
    1e-310,
    -1e-310,
    f64::MAX,
    -f64::MAX,
    f64::MIN_POSITIVE,
    5e-324,
    -5e-324,
    1e15 + 1.0,
    0.999,
    -1.5,
];

/// The same NaN, infinity or signed zero, or numbers that differ only by rounding.
fn alike(got: f64, want: f64) -> bool {
    // Subnormal results may be off by one unit in the last place.
    let close = (got - want).abs() <= 4.0 * f64::EPSILON * want.abs() + 5e-324;
    got.is_nan() && want.is_nan()
        || got == want && (got != 0.0 || got.is_sign_negative() == want.is_sign_negative())
        || want != 0.0 && got != 0.0 && close
}

#[test]
fn functions_of_one_argument() {
    type Case = (&'static str, unsafe fn(f64) -> f64, unsafe fn(f32) -> f32, fn(f64) -> f64);
    let cases: [Case; 28] = [
        ("sin", gpu::sin, gpu::sinf, f64::sin),
        ("cos", gpu::cos, gpu::cosf, f64::cos),
        ("tan", gpu::tan, gpu::tanf, f64::tan),
        ("asin", gpu::asin, gpu::asinf, f64::asin),
        ("acos", gpu::acos, gpu::acosf, f64::acos),
        ("atan", gpu::atan, gpu::atanf, f64::atan),
        ("sinh", gpu::sinh, gpu::sinhf, f64::sinh),
        ("cosh", gpu::cosh, gpu::coshf, f64::cosh),
        ("tanh", gpu::tanh, gpu::tanhf, f64::tanh),
        ("asinh", gpu::asinh, gpu::asinhf, libm::asinh),
        ("acosh", gpu::acosh, gpu::acoshf, libm::acosh),
        ("atanh", gpu::atanh, gpu::atanhf, libm::atanh),
        ("exp", gpu::exp, gpu::expf, f64::exp),
        ("exp2", gpu::exp2, gpu::exp2f, f64::exp2),
        ("exp10", gpu::exp10, gpu::exp10f, libm::exp10),
        ("expm1", gpu::expm1, gpu::expm1f, f64::exp_m1),
        ("log", gpu::log, gpu::logf, f64::ln),
        ("log2", gpu::log2, gpu::log2f, f64::log2),
        ("log10", gpu::log10, gpu::log10f, f64::log10),
        ("log1p", gpu::log1p, gpu::log1pf, f64::ln_1p),
        ("cbrt", gpu::cbrt, gpu::cbrtf, f64::cbrt),
        ("rcbrt", gpu::rcbrt, gpu::rcbrtf, |x| 1.0 / x.cbrt()),
        ("rsqrt", gpu::rsqrt, gpu::rsqrtf, |x| 1.0 / x.sqrt()),
        ("erf", gpu::erf, gpu::erff, libm::erf),
        ("erfc", gpu::erfc, gpu::erfcf, libm::erfc),
        ("tgamma", gpu::tgamma, gpu::tgammaf, libm::tgamma),
        ("j0", gpu::j0, gpu::j0f, libm::j0),
        ("y0", gpu::y0, gpu::y0f, libm::y0),
    ];
    // SAFETY (of all calls): these functions take only numbers.
    for (name, double, single, want) in cases {
        for x in VALUES {
            // Where the result depends on how π is rounded, the accuracy tests check the numbers.
            let huge_angle = x.abs() > 1e10 && matches!(name, "sin" | "cos" | "tan" | "j0" | "y0");
            let (got, want_x) = (unsafe { double(x) }, want(x));
            assert!(huge_angle || alike(got, want_x), "{name}({x:e}) = {got:e}, want {want_x:e}");
            let narrow = x as f32;
            if f64::from(narrow) == x || x.is_nan() {
                let got = unsafe { single(narrow) };
                let want = want_x as f32;
                let close = (got - want).abs() <= 4.0 * f32::EPSILON * want.abs();
                let same = got.is_nan() && want.is_nan()
                    || got == want && got.is_sign_negative() == want.is_sign_negative()
                    || got != 0.0 && close;
                assert!(huge_angle || same, "{name}f({x:e}) = {got:e}, want {want:e}");
            }
        }
    }
}

/// Where C's library has no such function: infinities, zeros, NaN, subnormals and the ends of the range, compared with
/// `f64`.
#[test]
fn single_forms_are_those_of_f64() {
    type Case = (&'static str, unsafe fn(f64) -> f64, unsafe fn(f32) -> f32);
    let cases: [Case; 9] = [
        ("lgamma", gpu::lgamma, gpu::lgammaf),
        ("tgamma", gpu::tgamma, gpu::tgammaf),
        ("erfcx", gpu::erfcx, gpu::erfcxf),
        ("erfinv", gpu::erfinv, gpu::erfinvf),
        ("erfcinv", gpu::erfcinv, gpu::erfcinvf),
        ("normcdf", gpu::normcdf, gpu::normcdff),
        ("normcdfinv", gpu::normcdfinv, gpu::normcdfinvf),
        ("cyl_bessel_i0", gpu::cyl_bessel_i0, gpu::cyl_bessel_i0f),
        ("cyl_bessel_i1", gpu::cyl_bessel_i1, gpu::cyl_bessel_i1f),
    ];
    let more = [
        1e-45,
        1e-40,
        1.1754944e-38,
        3e-39,
        1e-30,
        5e-10,
        1e-9,
        1e20,
        4e36,
        4.1e36,
        3e38,
        8388607.5,
        4194304.5,
    ];
    let inputs = VALUES.into_iter().chain(more).chain(more.map(|x| -x));
    for (name, double, single) in cases {
        for x in inputs.clone().map(|x| x as f32) {
            // SAFETY (of both calls): these functions take only numbers.
            let (got, want) = unsafe { (single(x), double(f64::from(x)) as f32) };
            let close = (got - want).abs() <= 8.0 * f32::EPSILON * want.abs() + 3e-45;
            let same = got.is_nan() && want.is_nan()
                || got == want && got.is_sign_negative() == want.is_sign_negative()
                || got != 0.0 && close;
            assert!(same, "{name}f({x:e}) = {got:e}, want {want:e}");
        }
    }
    for x in VALUES.map(|x| x as f32) {
        for y in VALUES.map(|y| y as f32) {
            // SAFETY (of both calls): functions of numbers only.
            let (got, want) = unsafe { (gpu::rhypotf(x, y), gpu::rhypot(f64::from(x), f64::from(y)) as f32) };
            let same =
                got.is_nan() && want.is_nan() || got == want || (got - want).abs() <= f32::EPSILON * want;
            assert!(same, "rhypotf({x:e}, {y:e}) = {got:e}, want {want:e}");
        }
    }
}

#[test]
fn error_functions_at_their_ends() {
    // SAFETY (of all calls): functions of numbers only.
    unsafe {
        // e^(x²)·erfc(x) goes to 1/(√π·x).
        assert_eq!(gpu::erfcx(f64::INFINITY), 0.0);
        assert!(alike(gpu::erfcx(1e305), 5.641895835477563e-306));
        assert!(alike(gpu::erfcx(f64::MAX), 3.138408733985445e-309));
        assert!(gpu::normcdfinv(0.5).is_sign_positive() && gpu::normcdfinvf(0.5).is_sign_positive());
    }
}

#[test]
fn the_logarithm_of_gamma_just_below_zero() {
    // The square of such an x is subnormal or zero.
    for x in [-1e-17, -1e-19, -1e-100, -1e-155, -1e-160, -1e-200, -1e-299, -1e-301] {
        // SAFETY: a function of a number.
        let (got, want) = (unsafe { gpu::lgamma(x) }, libm::lgamma(x));
        assert!(alike(got, want), "lgamma({x:e}) = {got:e}, want {want:e}");
    }
}

#[test]
fn functions_of_two_arguments() {
    type Case = (&'static str, unsafe fn(f64, f64) -> f64, fn(f64, f64) -> f64);
    let cases: [Case; 7] = [
        ("pow", gpu::pow, f64::powf),
        ("atan2", gpu::atan2, f64::atan2),
        ("hypot", gpu::hypot, f64::hypot),
        ("fmod", gpu::fmod, |x, y| x % y),
        ("remainder", gpu::remainder, libm::remainder),
        ("nextafter", gpu::nextafter, libm::nextafter),
        ("fdim", gpu::fdim, libm::fdim),
    ];
    for (name, function, want) in cases {
        for x in VALUES {
            for y in VALUES {
                // SAFETY: functions of numbers only.
                let (got, want) = (unsafe { function(x, y) }, want(x, y));
                assert!(alike(got, want), "{name}({x:e}, {y:e}) = {got:e}, want {want:e}");
            }
        }
    }
}

/// 5,000 pairs of random bits.
fn pairs() -> impl Iterator<Item = (f64, f64)> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        f64::from_bits(state)
    };
    (0..5000).map(move |_| (next(), next()))
}

#[test]
fn exact_functions_are_exact() {
    let same = |name: &str, x: f64, y: f64, got: f64, want: f64| {
        assert!(
            got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(),
            "{name}({x:e}, {y:e}) = {got:e}, want {want:e}"
        );
    };
    // SAFETY (of all calls): the pointers are to locals, and the rest takes only numbers.
    for (x, y) in pairs() {
        // The quotient of two random floats has hundreds of bits; that of this pair few.
        let near = f64::from_bits(x.to_bits() & 0x800f_ffff_ffff_ffff | y.to_bits() & 0x7ff0_0000_0000_0000);
        for (x, y) in [(x, y), (near, y)] {
            same("fmod", x, y, unsafe { gpu::fmod(x, y) }, x % y);
            same("remainder", x, y, unsafe { gpu::remainder(x, y) }, libm::remainder(x, y));
            let mut quotient = 0;
            let rest = unsafe { gpu::remquo(x, y, &mut quotient) };
            let (want_rest, want_quotient) = libm::remquo(x, y);
            same("remquo", x, y, rest, want_rest);
            if !rest.is_nan() {
                assert_eq!(quotient.abs() & 7, want_quotient.abs() & 7, "quotient of {x:e} and {y:e}");
            }
        }
        same("nextafter", x, y, unsafe { gpu::nextafter(x, y) }, libm::nextafter(x, y));
        same("fdim", x, y, unsafe { gpu::fdim(x, y) }, libm::fdim(x, y));
        same("fmax", x, y, unsafe { gpu::fmax(x, y) }, x.max(y));
        same("fmin", x, y, unsafe { gpu::fmin(x, y) }, x.min(y));
        same("round", x, y, unsafe { gpu::round(x) }, x.round());
        same("rint", x, y, unsafe { gpu::rint(x) }, x.round_ties_even());
        same("logb", x, y, unsafe { gpu::logb(x) }, if x.is_nan() { x } else { f64::from(libm::ilogb(x)) });
        let power = (y.to_bits() % 4200) as i32 - 2100;
        same("ldexp", x, f64::from(power), unsafe { gpu::ldexp(x, power) }, libm::ldexp(x, power));
        let mut exponent = 0;
        let fraction = unsafe { gpu::frexp(x, &mut exponent) };
        let (want_fraction, want_exponent) = libm::frexp(x);
        same("frexp", x, y, fraction, want_fraction);
        if x.is_finite() {
            assert_eq!(exponent, want_exponent, "exponent of {x:e}");
        }
        let mut whole = 0.0;
        let fraction = unsafe { gpu::modf(x, &mut whole) };
        same("modf", x, y, fraction, if x.is_nan() { x } else { libm::modf(x).0 });
        same("modf's integer", x, y, whole, x.trunc());
    }
}

#[test]
fn integer_powers_keep_the_digits_of_the_exponent() {
    // As an f32, 16777217 would be even.
    // SAFETY: functions of numbers only.
    unsafe {
        assert_eq!(gpu::powif(-1.0, 16_777_217), -1.0);
        assert_eq!(gpu::powif(2.0, -149), f32::from_bits(1));
        assert_eq!(gpu::powi(3.0, 5), 243.0);
        assert_eq!(gpu::powi(-2.0, i32::MIN), 0.0);
        assert_eq!(gpu::powi(0.0, -3), f64::INFINITY);
        assert_eq!(gpu::powi(f64::NAN, 0), 1.0);
    }
}

#[test]
fn bessel_functions_of_higher_order() {
    for n in [2, 3, 5, 10, 40] {
        for x in [0.1, 1.0, 2.5, 5.0, 9.9, 10.1, 30.0, 100.0, 1e4] {
            // SAFETY: functions of numbers only.
            let (j, y) = unsafe { (gpu::jn(n, x), gpu::yn(n, x)) };
            let (want_j, want_y) = (libm::jn(n, x), libm::yn(n, x));
            // Near their zeros the recurrences are accurate relative to the functions' size, √(2/πx), only.
            let size = (std::f64::consts::FRAC_2_PI / x).sqrt().min(1.0);
            assert!(
                (j - want_j).abs() <= 1e-13 * want_j.abs() + 1e-15 * size,
                "J{n}({x}) = {j:e}, want {want_j:e}"
            );
            assert!(
                (y - want_y).abs() <= 1e-13 * want_y.abs() + 1e-15 * size,
                "Y{n}({x}) = {y:e}, want {want_y:e}"
            );
        }
    }
}
