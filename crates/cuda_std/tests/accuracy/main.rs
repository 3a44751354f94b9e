//! Errors of rounding functions against arithmetic of 192 bits, in units of the last place: all of
//! `cuda_std::intrinsics`. Each has 5,000 inputs; `cargo bench -p cuda_std --bench math_accuracy` takes a million and
//! writes `docs/math-accuracy.md`.

mod cases;
mod error;
mod inputs;
mod measure;
mod oscillating;
mod reference;
mod single;
mod special;

use inputs::{double_pairs, doubles, single_pairs, singles};
use measure::{Worst, one_double, one_single, two_double, two_single};

const COUNT: usize = 5000;

fn case(name: &str) -> &'static cases::One {
    cases::ONE.iter().find(|case| case.name == name).unwrap()
}

fn check(name: &str, worst: Worst, bound: f64) {
    println!("{name}: {worst}");
    assert!(worst.ulps <= bound, "{name}: {worst}, bound {bound}");
}

macro_rules! bounds {
    ($($name:ident $double:literal $single:literal;)*) => {$(
        #[test]
        fn $name() {
            let case = case(stringify!($name));
            check(case.name, one_double(case, &doubles(case, COUNT)), $double);
            check(case.name_32, one_single(case, &singles(case, COUNT)), $single);
        }
    )*};
}

// The bounds that `docs/math-accuracy.md` states, for f64 and f32.
bounds! {
    sin 1.0 1.0;
    cos 1.0 1.0;
    tan 1.0 1.0;
    sinpi 1.0 1.0;
    cospi 1.0 1.0;
    asin 1.0 2.5;
    acos 1.0 1.5;
    atan 1.0 2.0;
    sinh 1.0 2.0;
    cosh 1.0 1.5;
    tanh 1.0 2.0;
    asinh 1.0 2.0;
    acosh 1.0 2.5;
    atanh 1.0 2.0;
    exp 1.0 1.0;
    exp2 1.0 1.0;
    exp10 1.0 1.5;
    expm1 1.0 1.0;
    log 1.0 1.0;
    log2 1.0 1.5;
    log10 1.0 1.0;
    log1p 1.0 1.0;
    cbrt 1.0 1.0;
    rcbrt 1.0 1.0;
    rsqrt 1.0 1.0;
    erf 1.5 1.0;
    erfc 1.5 4.0;
    erfcx 2.0 4.0;
    normcdf 2.0 4.0;
    tgamma 2.5 6.0;
    lgamma 2.0 3.5;
    cyl_bessel_i0 5.0 5.0;
    cyl_bessel_i1 5.0 5.0;
}

macro_rules! bounds_of_two {
    ($($name:ident $double:literal $single:literal;)*) => {$(
        #[test]
        fn $name() {
            let case = cases::TWO.iter().find(|case| case.name == stringify!($name)).unwrap();
            check(case.name, two_double(case, &double_pairs(case, COUNT)), $double);
            check(case.name_32, two_single(case, &single_pairs(case, COUNT)), $single);
        }
    )*};
}

bounds_of_two! {
    pow 1.0 1.0;
    atan2 1.0 1.0;
    hypot 1.0 1.0;
    rhypot 1.0 1.0;
}
