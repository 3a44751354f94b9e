//! Remainders, and taking floats apart and putting them together. All results are exact or correctly rounded.

use super::real::Real;

/// |x| modulo |y| and the lowest bits of the quotient, for finite x and y != 0.
///
/// Each turn takes away as many bits of the quotient as a float holds; the product and the difference of its fused
/// multiply-add are exact, because the difference is a multiple of y's last place and less than y.
#[inline(always)]
fn divide<T: Real>(x: T, y: T) -> (T, u32) {
    let (mut rest, y) = (x.magnitude(), y.magnitude());
    let mut quotient = 0;
    let chunk = T::FRACTION - 2;
    let exponent_of_y = exponent(y) + T::BIAS;
    while rest >= y {
        // The quotient has at most `chunk` bits and one more. A subnormal remainder is that close to y anyway.
        let apart = rest.stored_exponent() - exponent_of_y - chunk;
        let shift = if rest.stored_exponent() == 0 { 0 } else { apart.max(0) };
        let divisor = raised(y, shift);
        let bits = (rest / divisor).round_to_zero();
        let difference = (-bits).fma(divisor, rest);
        // The quotient may have been rounded up to the next integer.
        let over = difference < T::ZERO;
        rest = T::select(over, difference + divisor, difference);
        if shift < 3 {
            let bits = low_bits(bits).wrapping_sub(u32::from(over));
            quotient += bits << shift;
        }
    }
    (rest, quotient)
}

/// x·2^k for k >= 0, where the result is known to be finite.
#[inline(always)]
fn raised<T: Real>(x: T, k: i32) -> T {
    let first = k.min(T::BIAS);
    let second = (k - first).min(T::BIAS);
    x * T::power_of_two(first) * T::power_of_two(second) * T::power_of_two(k - first - second)
}

/// The lowest bits of an integer that a float holds.
#[inline(always)]
fn low_bits<T: Real>(x: T) -> u32 {
    let eighth = x * T::power_of_two(-3);
    (x - eighth.round_to_zero() * T::power_of_two(3)).to_i32() as u32
}

/// The remainder of the division rounded to zero, with the sign of x.
#[inline(always)]
pub(crate) fn fmod<T: Real>(x: T, y: T) -> T {
    if !x.is_finite() || y.is_nan() || y == T::ZERO {
        return T::NAN;
    }
    divide(x, y).0.with_sign(x)
}

/// The remainder of the division rounded to the nearest integer, ties to even, and the lowest three bits of that
/// integer with its sign.
#[inline(always)]
pub(crate) fn remquo<T: Real>(x: T, y: T) -> (T, i32) {
    if !x.is_finite() || y.is_nan() || y == T::ZERO {
        return (T::NAN, 0);
    }
    let (rest, mut quotient) = divide(x, y);
    let size = y.magnitude();
    // rest compared with size / 2, without rounding either.
    let other = size - rest;
    let up = rest > other || rest == other && quotient & 1 != 0;
    let rest = T::select(up, -other, rest);
    quotient = quotient.wrapping_add(u32::from(up)) & 7;
    let negative = x.is_negative() != y.is_negative();
    let quotient = if negative { -(quotient as i32) } else { quotient as i32 };
    let rest = T::select(rest == T::ZERO, T::ZERO, rest);
    (T::select(x.is_negative(), -rest, rest), quotient)
}

/// The fraction in ±[½, 1) and the exponent of x = fraction·2^exponent; x itself and 0 for zero, infinity and NaN.
#[inline(always)]
pub(crate) fn frexp<T: Real>(x: T) -> (T, i32) {
    if x == T::ZERO || !x.is_finite() {
        return (x, 0);
    }
    let digits = T::FRACTION + 2;
    let subnormal = x.stored_exponent() == 0;
    let y = T::select(subnormal, x * T::power_of_two(digits), x);
    let exponent = y.stored_exponent() - T::BIAS + 1 - if subnormal { digits } else { 0 };
    let fraction = y.bits() & ((1 << T::FRACTION) - 1) | T::HALF.bits();
    (T::of_bits(fraction).with_sign(x), exponent)
}

/// x·2^k, rounded once.
#[inline(always)]
pub(crate) fn ldexp<T: Real>(x: T, k: i32) -> T {
    // Steps down end above the subnormals except for the last, so that only that one rounds.
    let (up, down) = (T::BIAS, T::BIAS - 1 - T::FRACTION - 1);
    let (mut x, mut k) = (x, k);
    for _ in 0..2 {
        if k > up {
            x = x * T::power_of_two(up);
            k -= up;
        } else if k < -(T::BIAS - 1) {
            x = x * T::power_of_two(-down);
            k += down;
        }
    }
    x * T::power_of_two(k.clamp(1 - T::BIAS, T::BIAS))
}

/// The exponent of x = m·2^exponent with 1 <= |m| < 2, for finite x != 0.
#[inline(always)]
fn exponent<T: Real>(x: T) -> i32 {
    frexp(x).1 - 1
}

/// The exponent as a float: -∞ for zero, +∞ for infinity.
#[inline(always)]
pub(crate) fn logb<T: Real>(x: T) -> T {
    let finite = T::from_i32(exponent(x));
    let result = T::select(x == T::ZERO, -T::INFINITY, finite);
    T::select(x.is_finite(), result, x * x)
}

/// The exponent as an integer: `i32::MIN` for zero and NaN, `i32::MAX` for infinity.
#[inline(always)]
pub(crate) fn ilogb<T: Real>(x: T) -> i32 {
    if x == T::ZERO || x.is_nan() {
        i32::MIN
    } else if x.is_finite() {
        exponent(x)
    } else {
        i32::MAX
    }
}

/// Fraction and integer part, both with the sign of x.
#[inline(always)]
pub(crate) fn modf<T: Real>(x: T) -> (T, T) {
    let whole = x.round_to_zero();
    let fraction = T::select(x.is_finite(), x - whole, T::select(x.is_nan(), x, T::ZERO));
    (fraction.with_sign(x), whole)
}

/// The float next to x on the way to y.
#[inline(always)]
pub(crate) fn next_after<T: Real>(x: T, y: T) -> T {
    if x.is_nan() || y.is_nan() {
        return T::NAN;
    }
    if x == y {
        return y;
    }
    if x == T::ZERO {
        return T::of_bits(1).with_sign(y);
    }
    let outwards = (y > x) == (x > T::ZERO);
    T::of_bits(if outwards { x.bits() + 1 } else { x.bits() - 1 })
}

/// To the nearest integer, ties away from zero.
#[inline(always)]
pub(crate) fn round<T: Real>(x: T) -> T {
    let whole = x.round_to_zero();
    let away = (x - whole).magnitude() >= T::HALF;
    T::select(away, whole + T::ONE.with_sign(x), whole).with_sign(x)
}

/// x - y where that is positive, else zero.
#[inline(always)]
pub(crate) fn fdim<T: Real>(x: T, y: T) -> T {
    T::select(x <= y, T::ZERO, x - y)
}

/// The greater number; a NaN counts as missing, and +0 as greater than -0.
#[cfg(not(target_os = "cuda"))]
pub(crate) fn fmax<T: Real>(x: T, y: T) -> T {
    let greater = T::select(x > y || x == y && y.is_negative() || y.is_nan(), x, y);
    T::select(x.is_nan(), y, greater)
}

/// The smaller number; a NaN counts as missing, and -0 as smaller than +0.
#[cfg(not(target_os = "cuda"))]
pub(crate) fn fmin<T: Real>(x: T, y: T) -> T {
    let smaller = T::select(x < y || x == y && x.is_negative() || y.is_nan(), x, y);
    T::select(x.is_nan(), y, smaller)
}
