//! Sine, cosine, tangent and their inverses.
//!
//! x = k·π/2 + r with |r| <= π/4, r in two floats: by π/2 in three floats up to `TRIG_LARGE`, beyond by the bits of 2/π
//! that matter (Payne and Hanek). Short polynomials do the rest. All errors stay below 0.6 ulp, but for `tan` and the
//! inverse functions, which stay below 1 ulp.

use super::dd::{Dd, quick_two_sum, two_product, two_sum};
use super::real::Real;

/// 64 zero bits, then the bits of 2/π after the point: 1280 of them, enough for the largest `f64`.
static TWO_OVER_PI: [u64; 21] = [
    0,
    0xa2f9836e4e441529,
    0xfc2757d1f534ddc0,
    0xdb6295993c439041,
    0xfe5163abdebbc561,
    0xb7246e3a424dd2e0,
    0x06492eea09d1921c,
    0xfe1deb1cb129a73e,
    0xe88235f52ebb4484,
    0xe99c7026b45f7e41,
    0x3991d639835339f4,
    0x9c845f8bbdf9283b,
    0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f,
    0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea,
    0x6bfb5fb11f8d5d08,
    0x56033046fc7b6bab,
    0xf0cfbc209af4361d,
];

/// 64 bits of `TWO_OVER_PI` from bit `start` on.
#[inline(always)]
fn window(start: usize) -> u64 {
    let (word, bit) = (start / 64, start % 64);
    // The table extends beyond every start that an exponent can produce; the bounds check is a `min`.
    let at = |i: usize| TWO_OVER_PI[i.min(TWO_OVER_PI.len() - 1)];
    let high = at(word) << bit;
    // Two shifts, since one by 64 is not allowed.
    high | at(word + 1) >> 1 >> (63 - bit)
}

/// See [`Real::reduce_large`].
///
/// x = M·2^e. Bits of 2/π that make M·2^e·2/π a multiple of 4 are left out, and 192 bits from there on are multiplied:
/// the two highest bits of the product are the quadrant, the rest is the fraction of π/2.
#[inline(always)]
pub(crate) fn reduce_large_f64(x: f64) -> (i32, Dd<f64>) {
    let exponent = x.stored_exponent() - 1075;
    let mantissa = (x.to_bits() & ((1 << 52) - 1)) | 1 << 52;
    let start = (exponent + 62) as usize;
    let [high, middle, low] = [window(start), window(start + 64), window(start + 128)];
    let product = |word: u64| u128::from(mantissa) * u128::from(word);
    let lower = product(middle) + (product(low) >> 64);
    let top = mantissa.wrapping_mul(high).wrapping_add((lower >> 64) as u64);
    let fraction = u128::from(top) << 64 | u128::from(lower as u64);
    let quadrant = (top >> 62) as i32;
    // The fraction as a signed number of 128 bits: from one half on, count from the next quadrant.
    let signed = (fraction << 2) as i128;
    let quadrant = quadrant + i32::from(signed < 0);
    let size = signed.unsigned_abs();
    let zeros = size.leading_zeros();
    let size = size << (zeros & 127);
    let hi = ((size >> 75) as u64) as f64;
    let lo = ((size >> 11) as u64) as f64 * f64::power_of_two(-64);
    let scale = f64::power_of_two(-53 - zeros as i32);
    let turn = Dd { hi: hi * scale, lo: lo * scale };
    let r = Dd { hi: f64::PI_2[0], lo: f64::PI_2[1] }.times_dd(turn);
    let negative = (signed < 0) != (x < 0.0);
    let quadrant = if x < 0.0 { -quadrant } else { quadrant };
    (quadrant & 3, if negative { r.negated() } else { r })
}

/// See [`Real::reduce_large`]; as for `f64`, with 96 bits.
#[inline(always)]
pub(crate) fn reduce_large_f32(x: f32) -> (i32, Dd<f32>) {
    let exponent = x.stored_exponent() - 150;
    let mantissa = (x.to_bits() & ((1 << 23) - 1)) | 1 << 23;
    let start = (exponent + 62) as usize;
    let lower = u64::from(mantissa) * (window(start + 64) >> 32);
    // The lowest 64 bits of the product of `mantissa` with the 96 bits, shifted down by 32.
    let top = u64::from(mantissa).wrapping_mul(window(start)).wrapping_add(lower >> 32);
    let quadrant = (top >> 62) as i32;
    let signed = (top << 2 | lower << 32 >> 62) as i64;
    let quadrant = quadrant + i32::from(signed < 0);
    let hi = signed as f32;
    let lo = signed.wrapping_sub(hi as i64) as f32;
    let scale = f32::power_of_two(-64);
    let r = Dd { hi: f32::PI_2[0], lo: f32::PI_2[1] }.times_dd(Dd { hi: hi * scale, lo: lo * scale });
    (if x < 0.0 { -quadrant } else { quadrant } & 3, if x < 0.0 { r.negated() } else { r })
}

/// k modulo 4 and r of x = k·π/2 + r, for finite x.
#[inline(always)]
fn reduce<T: Real>(x: T) -> (i32, Dd<T>) {
    if x.magnitude() >= T::TRIG_LARGE {
        return x.reduce_large();
    }
    let k = (x * T::FRAC_2_PI).nearest();
    // Exact: both are multiples of the last place of the first part of π/2, and the difference is below one.
    let first = (-k).fma(T::PI_2[0], x);
    let second = two_product(-k, T::PI_2[1]);
    let sum = two_sum(first, second.hi);
    let r = quick_two_sum(sum.hi, sum.lo + (-k).fma(T::PI_2[2], second.lo));
    (k.to_i32() & 3, r)
}

/// k modulo 4 and r of π·x = k·π/2 + r, for any finite x.
#[inline(always)]
fn reduce_pi<T: Real>(x: T) -> (i32, Dd<T>) {
    // x modulo 2, exactly.
    let x = x - T::TWO * (x * T::HALF).round_to_zero();
    let k = (x + x).nearest();
    let r = Dd::of(T::PI).times((-k).fma(T::HALF, x));
    (k.to_i32() & 3, r)
}

/// sin(r) for |r| <= π/4.
#[inline(always)]
fn sin_reduced<T: Real>(r: Dd<T>) -> Dd<T> {
    let z = r.hi * r.hi;
    let cubic = (r.hi * z) * T::sin_tail(z);
    quick_two_sum(r.hi, cubic + (-T::HALF * z).fma(r.lo, r.lo))
}

/// cos(r) for |r| <= π/4.
#[inline(always)]
fn cos_reduced<T: Real>(r: Dd<T>) -> Dd<T> {
    let z = two_product(r.hi, r.hi);
    let half = T::HALF * z.hi;
    let one = quick_two_sum(T::ONE, -half);
    let tail = (z.hi * z.hi).fma(T::cos_tail(z.hi), -(r.hi * r.lo + T::HALF * z.lo));
    quick_two_sum(one.hi, one.lo + tail)
}

/// (sin, cos) of k·π/2 + r.
#[inline(always)]
fn both<T: Real>((k, r): (i32, Dd<T>)) -> (T, T) {
    let (sin, cos) = (sin_reduced(r).rounded(), cos_reduced(r).rounded());
    let (sin, cos) = if k & 1 == 0 { (sin, cos) } else { (cos, -sin) };
    if k & 2 == 0 { (sin, cos) } else { (-sin, -cos) }
}

/// The sine.
#[inline(always)]
pub(crate) fn sin<T: Real>(x: T) -> T {
    sin_cos(x).0
}

/// The cosine.
#[inline(always)]
pub(crate) fn cos<T: Real>(x: T) -> T {
    sin_cos(x).1
}

/// Sine and cosine.
#[inline(always)]
pub(crate) fn sin_cos<T: Real>(x: T) -> (T, T) {
    if !x.is_finite() {
        return (T::NAN, T::NAN);
    }
    let (sin, cos) = both(reduce(x));
    // A zero keeps its sign.
    (T::select(x == T::ZERO, x, sin), cos)
}

/// The tangent.
#[inline(always)]
pub(crate) fn tan<T: Real>(x: T) -> T {
    if !x.is_finite() {
        return T::NAN;
    }
    let (k, r) = reduce(x);
    let (sin, cos) = (sin_reduced(r), cos_reduced(r));
    let (numerator, denominator) = if k & 1 == 0 { (sin, cos) } else { (cos.negated(), sin) };
    T::select(x == T::ZERO, x, numerator.over(denominator).rounded())
}

/// sin(π·x) and cos(π·x).
#[inline(always)]
pub(crate) fn sin_cos_pi<T: Real>(x: T) -> (T, T) {
    if !x.is_finite() {
        return (T::NAN, T::NAN);
    }
    let (k, r) = reduce_pi(x);
    let (sin, cos) = both((k, r));
    // At integers the sine is a zero with the sign of x, at halves the cosine is +0.
    let sin = T::select(sin == T::ZERO, T::ZERO.with_sign(x), sin);
    (sin, T::select(cos == T::ZERO, T::ZERO, cos))
}

/// sin(π·x).
#[inline(always)]
pub(crate) fn sin_pi<T: Real>(x: T) -> T {
    sin_cos_pi(x).0
}

/// cos(π·x).
#[inline(always)]
pub(crate) fn cos_pi<T: Real>(x: T) -> T {
    sin_cos_pi(x).1
}

/// asin(s) for |s| <= 1/2.
#[inline(always)]
fn asin_small<T: Real>(s: Dd<T>) -> Dd<T> {
    let z = s.hi * s.hi;
    quick_two_sum(s.hi, (s.hi * z).fma(T::asin_tail(z), s.lo))
}

/// √((1 - a) / 2) for a in [1/2, 1]: half the angle of acos(a) is its arc sine.
#[inline(always)]
fn half_angle_sine<T: Real>(a: T) -> Dd<T> {
    let z = (T::ONE - a) * T::HALF;
    let s = Dd { hi: z, lo: T::ZERO }.sqrt();
    if z > T::ZERO { s } else { Dd { hi: z, lo: T::ZERO } }
}

/// The arc sine.
#[inline(always)]
pub(crate) fn asin<T: Real>(x: T) -> T {
    let a = x.magnitude();
    let small = asin_small(Dd { hi: x, lo: T::ZERO }).rounded();
    let rest = asin_small(half_angle_sine(a)).scaled(-T::TWO);
    let large = Dd { hi: T::PI_2[0], lo: T::PI_2[1] }.plus_dd(rest).rounded().with_sign(x);
    let result = T::select(a <= T::HALF, small, T::select(a <= T::ONE, large, T::NAN));
    T::select(x == T::ZERO, x, result)
}

/// The arc cosine.
#[inline(always)]
pub(crate) fn acos<T: Real>(x: T) -> T {
    let a = x.magnitude();
    let right = Dd { hi: T::PI_2[0], lo: T::PI_2[1] };
    let small = right.plus_dd(asin_small(Dd { hi: x, lo: T::ZERO }).negated()).rounded();
    let angle = asin_small(half_angle_sine(a)).scaled(T::TWO);
    let back = Dd::of(T::PI).plus_dd(angle.negated()).rounded();
    let large = T::select(x > T::ZERO, angle.rounded(), back);
    T::select(a <= T::HALF, small, T::select(a <= T::ONE, large, T::NAN))
}

/// The angle of the point (x, y) for 0 <= y and 0 <= x, both not far from one unless one is zero.
///
/// One division, of the tangent of the angle's distance to 0, π/4 or π/2, whichever is nearest.
#[inline(always)]
fn first_quadrant<T: Real>(y: T, x: T) -> Dd<T> {
    let steep = y > x * T::TAN_3PI_8;
    let middle = !steep && x < y * T::TAN_3PI_8;
    let difference = two_sum(y, -x);
    let sum = two_sum(y, x);
    let zero = T::ZERO;
    let numerator = Dd {
        hi: T::select(middle, difference.hi, T::select(steep, -x, y)),
        lo: T::select(middle, difference.lo, zero),
    };
    let denominator =
        Dd { hi: T::select(middle, sum.hi, T::select(steep, y, x)), lo: T::select(middle, sum.lo, zero) };
    let q = numerator.over(denominator);
    let z = q.hi * q.hi;
    // The derivative of atan, 1 - z + …, would matter to the lower part in its own last places only.
    let angle = quick_two_sum(q.hi, (q.hi * z).fma(T::atan_tail(z), (-z).fma(q.lo, q.lo)));
    let scale = T::select(steep, T::ONE, T::select(middle, T::HALF, zero));
    let base = Dd { hi: T::PI_2[0] * scale, lo: T::PI_2[1] * scale };
    if steep || middle { base.plus_dd(angle) } else { angle }
}

/// The arc tangent.
#[inline(always)]
pub(crate) fn atan<T: Real>(x: T) -> T {
    let a = x.magnitude();
    // From here on the angle is π/2 apart from rounding.
    let limit = T::power_of_two(T::FRACTION + 8);
    let angle = first_quadrant(T::select(a > limit, limit, a), T::ONE).rounded();
    T::select(x.is_nan() || x == T::ZERO, x, angle.with_sign(x))
}

/// The angle of the point (x, y).
#[inline(always)]
pub(crate) fn atan2<T: Real>(y: T, x: T) -> T {
    let (a, b) = (x.magnitude(), y.magnitude());
    let (greater, less) = (T::select(a < b, b, a), T::select(a < b, a, b));
    // Two infinities are as good as two ones, an infinity beside a number as one beside zero, and so are two zeros. Else,
    // so that nothing leaves the normal range on the way, both are moved near one.
    let infinite = greater == T::INFINITY;
    let less = T::select(infinite, T::select(less == T::INFINITY, T::ONE, T::ZERO), less);
    let greater = T::select(infinite || greater == T::ZERO, T::ONE, greater);
    let shift = T::power_of_two((T::BIAS - greater.stored_exponent()).clamp(1 - T::BIAS, T::BIAS));
    // An angle so small that it is its tangent is computed as a larger one: what is left of a division whose quotient is
    // subnormal cannot be represented.
    let lift = T::BIAS / 2;
    let small = less * shift < T::power_of_two(-lift - T::FRACTION / 2 - 4) && b <= a && !x.is_negative();
    let (up, down) = (T::power_of_two(lift), T::power_of_two(-lift));
    let (greater, less) = (greater * shift, T::select(small, less * up, less) * shift);
    let angle = if a < b { first_quadrant(greater, less) } else { first_quadrant(less, greater) };
    let angle = if x.is_negative() { Dd::of(T::PI).plus_dd(angle.negated()) } else { angle };
    let angle = T::select(small, angle.rounded() * down, angle.rounded());
    T::select(x.is_nan() || y.is_nan(), T::NAN, angle.with_sign(y))
}

#[cfg(test)]
mod tests {
    use crate::math::real::reciprocal::nudge;

    #[test]
    fn angles_do_not_show_how_reciprocals_are_approximated() {
        // Every eighth of an octave of both, and what lies between: quotients of all sizes, subnormal ones included.
        let numbers =
            || (0..2040_u32).map(|i| f32::from_bits((i << 20) + (i.wrapping_mul(0x9e37_79b9) >> 12)));
        for y in numbers().step_by(7) {
            for x in numbers().flat_map(|x| [x, -x]) {
                let [exact, below, above] = [0, -1, 1].map(|places| {
                    nudge::set(places);
                    super::atan2(y, x).to_bits()
                });
                assert_eq!((below, above), (exact, exact), "{y:e}, {x:e}");
            }
        }
    }
}
