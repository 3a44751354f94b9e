//! Exponentials.
//!
//! x = k·ln 2 + r with |r| <= ln(2)/2, r in two floats; e^r = 1 + r + r²·P(r), summed in two floats, so that little but
//! the final rounding is left: below 0.52 ulp wherever the result is normal. `f32` has shorter ways of its own.

use super::dd::{Dd, quick_two_sum, two_sum};
use super::real::Real;

/// e^r - 1 for |r| <= ln(2)/2.
#[inline(always)]
fn exp_m1_reduced<T: Real>(r: Dd<T>) -> Dd<T> {
    let tail = (r.hi * r.hi).fma(T::exp_tail(r.hi), r.hi.fma(r.lo, r.lo));
    quick_two_sum(r.hi, tail)
}

/// e^r for |r| <= ln(2)/2.
#[inline(always)]
fn exp_reduced<T: Real>(r: Dd<T>) -> Dd<T> {
    let m1 = exp_m1_reduced(r);
    let sum = quick_two_sum(T::ONE, m1.hi);
    Dd { hi: sum.hi, lo: sum.lo + m1.lo }
}

/// k and r of x = k·ln 2 + r, for x within the range in which e^x is neither zero nor infinite.
///
/// The first product is exact: like x, it is a multiple of the last place of ln 2, unless k is 0.
#[inline(always)]
fn reduce<T: Real>(x: Dd<T>) -> (i32, Dd<T>) {
    let k = (x.hi * T::LOG2_E[0]).nearest();
    let r = two_sum((-k).fma(T::LN2[0], x.hi), (-k).fma(T::LN2[1], x.lo));
    (k.to_i32(), r)
}

/// x clamped to the range where `reduce` works; beyond it e^x does not change.
#[inline(always)]
fn limited<T: Real>(x: T) -> T {
    let [low, high] = T::EXP_RANGE;
    T::select(x > high, high, T::select(x < low, low, x))
}

/// e^x = (hi + lo)·2^k.
#[inline(always)]
pub(crate) fn exp_dd<T: Real>(x: Dd<T>) -> (Dd<T>, i32) {
    let limited_hi = limited(x.hi);
    let lo = T::select(limited_hi == x.hi, x.lo, T::ZERO);
    let (k, r) = reduce(Dd { hi: limited_hi, lo });
    (exp_reduced(r), k)
}

/// [`exp_dd`] for an x whose e^x may exceed the float's range by a few binades.
#[inline(always)]
pub(crate) fn exp_dd_unlimited<T: Real>(x: Dd<T>) -> (Dd<T>, i32) {
    let (k, r) = reduce(x);
    (exp_reduced(r), k)
}

/// e^(hi + lo).
#[inline(always)]
pub(crate) fn exp_of<T: Real>(x: Dd<T>) -> T {
    let (e, k) = exp_dd(x);
    e.rounded().scaled(k)
}

/// e^x.
#[inline(always)]
pub(crate) fn exp<T: Real>(x: T) -> T {
    exp_of(Dd { hi: x, lo: T::ZERO })
}

/// 2^x.
#[inline(always)]
pub(crate) fn exp2<T: Real>(x: T) -> T {
    let beyond = T::from_i32(2 * T::BIAS);
    let x = T::select(x > beyond, beyond, T::select(x < -beyond, -beyond, x));
    let k = x.nearest();
    let r = Dd::of(T::LN2).times(x - k);
    exp_reduced(r).rounded().scaled(k.to_i32())
}

/// 10^x.
#[inline(always)]
pub(crate) fn exp10<T: Real>(x: T) -> T {
    let beyond = T::from_i32(T::BIAS * 3 / 8);
    let x = T::select(x > beyond, beyond, T::select(x < -beyond, -beyond, x));
    let k = (x * T::LOG2_10).nearest();
    let r = two_sum((-k).fma(T::LOG10_2[0], x), -k * T::LOG10_2[1]);
    let r = Dd::of(T::LN10).times_dd(r);
    exp_reduced(r).rounded().scaled(k.to_i32())
}

/// e^x - 1.
#[inline(always)]
pub(crate) fn exp_m1<T: Real>(x: T) -> T {
    let digits = T::FRACTION + 8;
    let (k, r) = reduce(Dd { hi: limited(x), lo: T::ZERO });
    let m1 = exp_m1_reduced(r);
    // 2^k·(m1 + 1) - 1: beyond `digits`, one of the two ones is too small to matter.
    let near = k.clamp(-digits, digits);
    let power = T::power_of_two(near);
    let ones = two_sum(power, -T::ONE);
    let sum = two_sum(ones.hi, power * m1.hi);
    let small = sum.hi + (power.fma(m1.lo, sum.lo) + ones.lo);
    let large = quick_two_sum(T::ONE, m1.hi);
    let large = (large.hi + (large.lo + m1.lo)).scaled(k);
    let result = T::select(k > digits, large, small);
    T::select(x.magnitude() < T::power_of_two(-T::FRACTION - 2), x, result)
}

/// (e^x ± e^-x) / 2 for x >= 0, as (hi + lo)·2^k so that nothing overflows early.
#[inline(always)]
fn half_sum<T: Real>(x: T, sign: T) -> T {
    let (e, k) = exp_dd(Dd { hi: x, lo: T::ZERO });
    // e^-x relative to 2^k: 2^-2k / e, gone when k is large. (For NaN, k is anything.)
    let power = T::power_of_two(k.wrapping_mul(-2).max(-2 * T::FRACTION - 8));
    let inverse = Dd { hi: T::ONE, lo: T::ZERO }.over(e).scaled(power * sign);
    e.plus_dd(inverse).rounded().scaled(k.wrapping_sub(1))
}

/// The hyperbolic sine.
#[inline(always)]
pub(crate) fn sinh<T: Real>(x: T) -> T {
    let a = x.magnitude();
    let z = x * x;
    let small = (x * z).fma(T::sinh_tail(z), x);
    let large = half_sum(a, -T::ONE).with_sign(x);
    T::select(a <= T::ONE, small, large)
}

/// The hyperbolic cosine.
#[inline(always)]
pub(crate) fn cosh<T: Real>(x: T) -> T {
    half_sum(x.magnitude(), T::ONE)
}

/// The hyperbolic tangent: 1 - 2 / (e^2x + 1) away from zero.
#[inline(always)]
pub(crate) fn tanh<T: Real>(x: T) -> T {
    let a = x.magnitude();
    let z = x * x;
    let small = (x * z).fma(T::tanh_tail(z), x);
    let enough = T::from_i32(T::FRACTION);
    let (e, k) = exp_dd(Dd { hi: T::select(a > enough, enough, a) * T::TWO, lo: T::ZERO });
    let e = e.scaled(T::power_of_two(k));
    let denominator = two_sum(e.hi, T::ONE);
    let denominator = quick_two_sum(denominator.hi, denominator.lo + e.lo);
    let rest = Dd { hi: -T::TWO, lo: T::ZERO }.over(denominator);
    let large = rest.plus(T::ONE).rounded();
    let large = T::select(x.is_nan(), x, large.with_sign(x));
    let result = T::select(a < T::TANH_SMALL, small, large);
    // A zero keeps its sign.
    T::select(x == T::ZERO, x, result)
}
