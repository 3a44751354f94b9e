//! Roots, and lengths of vectors.

use super::dd::{Dd, two_product};
use super::real::Real;

/// |x| = m·2^(3q + r) with m in [1, 2) and r in 0..3, for finite x != 0: gives m·2^r, an approximation of its inverse
/// cube root, and q.
#[inline(always)]
fn start<T: Real>(x: T) -> (T, T, i32) {
    let a = x.magnitude();
    let subnormal = a.stored_exponent() == 0;
    let digits = T::FRACTION + 2;
    let a = T::select(subnormal, a * T::power_of_two(digits), a);
    let exponent = a.stored_exponent() - T::BIAS - if subnormal { digits } else { 0 };
    let m = T::of_bits(a.bits() & ((1 << T::FRACTION) - 1) | T::ONE.bits());
    let q = exponent.div_euclid(3);
    let r = exponent.rem_euclid(3);
    let m = m * T::power_of_two(r);
    let one_step = T::select(r == 0, T::ONE, T::select(r == 1, T::RCBRT_POWERS[0], T::RCBRT_POWERS[1]));
    let y = T::rcbrt_start(m * T::power_of_two(-r)) * one_step;
    // Two steps, each of which cubes the error (about 2^-12 at first).
    (m, refined(m, refined(m, y)), q)
}

/// y nearer to m^(-1/3): with e = 1 - m·y³, y·(1 - e)^(-1/3) = y·(1 + e/3 + 2e²/9 + …).
#[inline(always)]
pub(super) fn refined<T: Real>(m: T, y: T) -> T {
    let e = (-(m * y)).fma(y * y, T::ONE);
    let two_ninths = T::TWO * T::THIRD[0] * T::THIRD[0];
    (y * e).fma(e.fma(two_ninths, T::THIRD[0]), y)
}

/// The cube root. Below 0.52 ulp.
#[inline(always)]
pub(crate) fn cbrt<T: Real>(x: T) -> T {
    let (m, y, q) = start(x);
    // m·y² is the root but for rounding; the remainder in two floats gives the correction.
    let root = m * y * y;
    let square = two_product(root, root);
    let cube = two_product(square.hi, root);
    let remainder = (m - cube.hi) - square.lo.fma(root, cube.lo);
    let root = (remainder * T::THIRD[0] * y).fma(y, root);
    let result = (root * T::power_of_two(q)).with_sign(x);
    T::select(x == T::ZERO || !x.is_finite(), x, result)
}

/// 1 / ∛x. Below 0.52 ulp.
#[inline(always)]
pub(crate) fn rcbrt<T: Real>(x: T) -> T {
    let (m, y, q) = start(x);
    let square = two_product(y, y);
    let cube = square.times(y);
    let product = cube.times(m);
    let e = (T::ONE - product.hi) - product.lo;
    let root = (y * T::THIRD[0]).fma(e, y);
    let result = (root * T::power_of_two(-q)).with_sign(x);
    let result =
        T::select(x.magnitude() == T::INFINITY, T::ZERO.with_sign(x), T::select(x.is_nan(), x, result));
    T::select(x == T::ZERO, T::INFINITY.with_sign(x), result)
}

/// 1 / √x of a normal sum: the plain quotient, corrected.
#[inline(always)]
fn rsqrt_dd<T: Real>(x: Dd<T>) -> T {
    let y = x.hi.inner_root().inverse();
    // y·(1 + e/2) with e = 1 - x·y²
    let product = x.times(y).times(y);
    let e = (T::ONE - product.hi) - product.lo;
    (y * T::HALF).fma(e, y)
}

/// 1 / √x. Below 0.51 ulp.
#[inline(always)]
pub(crate) fn rsqrt<T: Real>(x: T) -> T {
    // Subnormals are scaled up by an even power of two, and the root is scaled back.
    let digits = 2 * (T::FRACTION / 2 + 1);
    let subnormal = x.stored_exponent() == 0;
    let raised = T::select(subnormal, x * T::power_of_two(digits), x);
    let result = rsqrt_dd(Dd { hi: raised, lo: T::ZERO });
    let result = T::select(subnormal, result * T::power_of_two(digits / 2), result);
    let result = T::select(x == T::ZERO, T::INFINITY.with_sign(x), result);
    T::select(x == T::INFINITY, T::ZERO, result)
}

/// The sum of squares of `components`, divided by 2^2k, and k, chosen so that the greatest one is near one; and whether
/// one of them is infinite.
#[inline(always)]
fn squares<T: Real, I: Iterator<Item = T> + Clone>(components: I) -> (Dd<T>, i32, bool) {
    let greatest = components.clone().fold(T::ZERO, |m, x| T::select(x.magnitude() > m, x.magnitude(), m));
    let k = (greatest.stored_exponent() - T::BIAS).clamp(2 - T::BIAS, T::BIAS - 1);
    let scale = T::power_of_two(-k);
    let sum = components.fold(Dd { hi: T::ZERO, lo: T::ZERO }, |sum, x| {
        let x = x * scale;
        let square = two_product(x, x);
        sum.plus_dd(square)
    });
    (sum, k, greatest == T::INFINITY)
}

/// √(x² + y² + …). Below 0.51 ulp; infinite if any component is.
#[inline(always)]
pub(crate) fn norm<T: Real, I: Iterator<Item = T> + Clone>(components: I) -> T {
    let (sum, k, infinite) = squares(components);
    let root = Dd { hi: T::select(sum.hi == T::ZERO, T::ONE, sum.hi), lo: sum.lo }.sqrt();
    let root = (root.hi + root.lo) * T::power_of_two(k);
    T::select(infinite, T::INFINITY, T::select(sum.hi == T::ZERO, T::ZERO, root))
}

/// 1 / √(x² + y² + …). Below 0.52 ulp; zero if any component is infinite.
#[inline(always)]
pub(crate) fn rnorm<T: Real, I: Iterator<Item = T> + Clone>(components: I) -> T {
    let (sum, k, infinite) = squares(components);
    let root = rsqrt_dd(sum) * T::power_of_two(-k);
    T::select(infinite, T::ZERO, T::select(sum.hi == T::ZERO, T::INFINITY, root))
}

/// √(x² + y²).
#[inline(always)]
pub(crate) fn hypot<T: Real>(x: T, y: T) -> T {
    norm([x, y].into_iter())
}

/// 1 / √(x² + y²).
#[inline(always)]
pub(crate) fn rhypot<T: Real>(x: T, y: T) -> T {
    rnorm([x, y].into_iter())
}
