//! Logarithms and powers.
//!
//! x = m·2^k with m in [√½, √2]. With s = (m - 1) / (m + 1), ln m = 2·artanh(s) = 2s·(1 + z/3 + z²·P(z)), z = s². All
//! terms that matter are kept in two floats, which leaves about 2^-65 (2^-32 for `f32`) of relative error: enough for
//! `pow`, and for logarithms rounded almost correctly (below 0.51 ulp). The logarithms of `f32` have shorter ways of their own.

use super::dd::{Dd, quick_two_sum, two_product, two_sum};
use super::exp::exp_of;
use super::real::Real;

/// ln(m) + k·ln 2 for m in about [√½, √2].
#[inline(always)]
fn ln_reduced<T: Real>(m: Dd<T>, k: i32) -> Dd<T> {
    let f = two_sum(m.hi - T::ONE, m.lo);
    let d = quick_two_sum(T::TWO, f.hi);
    let s = f.over(Dd { hi: d.hi, lo: d.lo + f.lo });
    let z = s.square();
    let tail = quick_two_sum(T::THIRD[0], z.hi * T::atanh_tail(z.hi));
    let tail = Dd { hi: tail.hi, lo: tail.lo + T::THIRD[1] };
    let cubic = s.times_dd(z.times_dd(tail));
    let half = quick_two_sum(s.hi, cubic.hi);
    let half = Dd { hi: half.hi, lo: half.lo + (s.lo + cubic.lo) };
    let of_m = half.scaled(T::TWO);
    let k = T::from_i32(k);
    let of_power = two_product(k, T::LN2[0]);
    let of_power = Dd { hi: of_power.hi, lo: k.fma(T::LN2[1], of_power.lo) };
    of_power.plus_dd(of_m)
}

/// m in [√½, √2] and k of x = m·2^k, for finite x > 0.
#[inline(always)]
pub(crate) fn split<T: Real>(x: T) -> (T, i32) {
    let subnormal = x.stored_exponent() == 0;
    let raised = x * T::power_of_two(T::FRACTION + 2);
    let x = T::select(subnormal, raised, x);
    let offset = x.bits().wrapping_sub(T::SQRT_2_2.bits()) as i64;
    let k = (offset >> T::FRACTION) as i32;
    let m = T::of_bits(x.bits().wrapping_sub(((k as i64) << T::FRACTION) as u64));
    (m, if subnormal { k - T::FRACTION - 2 } else { k })
}

/// ln(x) for finite x > 0.
#[inline(always)]
pub(crate) fn ln_dd<T: Real>(x: T) -> Dd<T> {
    let (m, k) = split(x);
    ln_reduced(Dd { hi: m, lo: T::ZERO }, k)
}

/// ln(hi + lo) for a normal sum > 0.
#[inline(always)]
pub(crate) fn ln_of<T: Real>(x: Dd<T>) -> Dd<T> {
    let (m, k) = split(x.hi);
    // 2^-k may be beyond the normal range by one step: take it in two.
    let half = -k >> 1;
    let lo = x.lo * T::power_of_two(half) * T::power_of_two(-k - half);
    ln_reduced(Dd { hi: m, lo }, k)
}

/// The logarithm of an x that is not finite and positive.
#[inline(always)]
fn domain<T: Real>(x: T, inside: T) -> T {
    let inside = T::select(x == T::INFINITY, x, inside);
    let outside = T::select(x == T::ZERO, -T::INFINITY, T::NAN);
    T::select(x > T::ZERO, inside, outside)
}

/// The natural logarithm.
#[inline(always)]
pub(crate) fn ln<T: Real>(x: T) -> T {
    domain(x, ln_dd(x).rounded())
}

/// The logarithm to base 2.
#[inline(always)]
pub(crate) fn log2<T: Real>(x: T) -> T {
    domain(x, ln_dd(x).times_dd(Dd::of(T::LOG2_E)).rounded())
}

/// The logarithm to base 10.
#[inline(always)]
pub(crate) fn log10<T: Real>(x: T) -> T {
    domain(x, ln_dd(x).times_dd(Dd::of(T::LOG10_E)).rounded())
}

/// ln(x) / ln(base).
#[inline(always)]
pub(crate) fn log<T: Real>(x: T, base: T) -> T {
    let inside = x > T::ZERO && x < T::INFINITY && base > T::ZERO && base < T::INFINITY;
    let quotient = ln_dd(x).over(ln_dd(base)).rounded();
    let plain = ln(x) / ln(base);
    // A base of one divides by zero: the plain quotient has the right infinity.
    T::select(inside && base != T::ONE, quotient, plain)
}

/// ln(1 + x).
#[inline(always)]
pub(crate) fn ln_1p<T: Real>(x: T) -> T {
    let result = domain(x + T::ONE, ln_of(two_sum(T::ONE, x)).rounded());
    T::select(x.magnitude() < T::power_of_two(-T::FRACTION - 2), x, result)
}

/// The inverse hyperbolic sine: ln(|x| + √(x² + 1)).
#[inline(always)]
pub(crate) fn asinh<T: Real>(x: T) -> T {
    let a = x.magnitude();
    let digits = T::FRACTION / 2 + 4;
    // Beyond 2^digits the one under the root is too small to matter, and x² might overflow.
    let large = ln_dd(a).plus_dd(Dd::of(T::LN2));
    let limit = T::power_of_two(digits);
    let b = T::select(a > limit, limit, a);
    let square = two_product(b, b);
    let root = square.plus(T::ONE).sqrt();
    // |x| + √(x²+1) = 1 + (|x| + x² / (1 + √(x²+1))), so that small x keep all their digits.
    let over_one = square.over(root.plus(T::ONE)).plus(b);
    let sum = two_sum(T::ONE, over_one.hi);
    let near = ln_of(Dd { hi: sum.hi, lo: sum.lo + over_one.lo });
    let result = T::select(a > limit, large.rounded(), near.rounded()).with_sign(x);
    let result = T::select(x.is_finite(), result, x);
    T::select(a < T::power_of_two(-digits), x, result)
}

/// The inverse hyperbolic cosine: ln(x + √(x² - 1)).
#[inline(always)]
pub(crate) fn acosh<T: Real>(x: T) -> T {
    let digits = T::FRACTION / 2 + 4;
    let limit = T::power_of_two(digits);
    let large = ln_dd(x).plus_dd(Dd::of(T::LN2));
    let b = T::select(x > limit, limit, x);
    // With t = x - 1, x + √(x²-1) = 1 + (t + √(t² + 2t)).
    let t = b - T::ONE;
    let square = two_product(t, t);
    let under = two_sum(t + t, square.hi);
    let root = quick_two_sum(under.hi, under.lo + square.lo).sqrt();
    let over_one = root.plus(t);
    let sum = two_sum(T::ONE, over_one.hi);
    let near = ln_of(Dd { hi: sum.hi, lo: sum.lo + over_one.lo });
    let result = T::select(x > limit, large.rounded(), near.rounded());
    let result = T::select(x == T::INFINITY, x, result);
    let result = T::select(x == T::ONE, T::ZERO, result);
    T::select(x >= T::ONE, result, T::NAN)
}

/// The inverse hyperbolic tangent: ½·ln((1 + x) / (1 - x)).
#[inline(always)]
pub(crate) fn atanh<T: Real>(x: T) -> T {
    let a = x.magnitude();
    // (1 + a) / (1 - a) = 1 + 2a / (1 - a)
    let over_one = Dd { hi: a + a, lo: T::ZERO }.over(two_sum(T::ONE, -a));
    let sum = two_sum(T::ONE, over_one.hi);
    let result = ln_of(Dd { hi: sum.hi, lo: sum.lo + over_one.lo }).rounded() * T::HALF;
    let result = T::select(a == T::ONE, T::INFINITY, result);
    let result = T::select(a <= T::ONE, result.with_sign(x), T::NAN);
    T::select(a < T::power_of_two(-T::FRACTION / 2 - 2), x, result)
}

/// Whether y is an integer, and whether it is an odd one.
#[inline(always)]
fn integer_and_odd<T: Real>(y: T) -> (bool, bool) {
    let integer = y.round_to_zero() == y;
    let half = y * T::HALF;
    (integer, integer && half.round_to_zero() != half)
}

/// |x|^y, with y in two floats, for finite x != 0.
#[inline(always)]
fn pow_magnitude<T: Real>(x: T, y: Dd<T>) -> T {
    let log = ln_dd(x.magnitude());
    let hi = log.hi.times(y.hi);
    let lo = log.hi.fma(y.hi, -hi) + log.hi.fma(y.lo, log.lo * y.hi);
    // Beyond the range of `exp` the lower part may be a difference of infinities.
    let lo = T::select(hi.magnitude() < T::from_i32(2 * T::BIAS), lo, T::ZERO);
    exp_of(quick_two_sum(hi, lo))
}

/// x^y for any x, if `of_finite` is |x|^y for finite x != 0 and y is not zero.
#[inline(always)]
fn pow_cases<T: Real>(x: T, negative_y: bool, integer: bool, odd: bool, of_finite: T) -> T {
    let a = x.magnitude();
    let result = T::select(a == T::ZERO, T::select(negative_y, T::INFINITY, T::ZERO), of_finite);
    let result = T::select(a == T::INFINITY, T::select(negative_y, T::ZERO, T::INFINITY), result);
    let result = T::select(odd, result.with_sign(x), result);
    let of_root = x < T::ZERO && a != T::INFINITY && !integer;
    T::select(of_root || x.is_nan(), T::NAN, result)
}

/// x^y.
#[inline(always)]
pub(crate) fn pow<T: Real>(x: T, y: T) -> T {
    let (integer, odd) = integer_and_odd(y);
    let result = pow_cases(x, y < T::ZERO, integer, odd, pow_magnitude(x, Dd { hi: y, lo: T::ZERO }));
    // y is infinite: what matters is whether |x| is above or below one.
    let a = x.magnitude();
    let grows = (a > T::ONE) == (y > T::ZERO);
    let of_infinite = T::select(a == T::ONE, T::ONE, T::select(grows, T::INFINITY, T::ZERO));
    let result = T::select(y.magnitude() == T::INFINITY && !x.is_nan(), of_infinite, result);
    let result = T::select(y.is_nan(), T::NAN, result);
    T::select(x == T::ONE || y == T::ZERO, T::ONE, result)
}

/// x^n. Integers that the float type cannot hold keep all their digits.
#[inline(always)]
pub(crate) fn powi<T: Real>(x: T, n: i32) -> T {
    let high = T::from_i32(n & !0xfff);
    let y = quick_two_sum(high, T::from_i32(n & 0xfff));
    let result = pow_cases(x, n < 0, true, n & 1 != 0, pow_magnitude(x, y));
    T::select(x == T::ONE || n == 0, T::ONE, result)
}
