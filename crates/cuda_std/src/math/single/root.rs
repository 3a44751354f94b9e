//! Cube roots and the inverse length.
//!
//! A third of the bits is a third of the logarithm, which leaves 5 % of error in the inverse cube root.

use crate::math::dd::two_product;
use crate::math::real::Real;
use crate::math::root::refined;

/// |x|, moved up from where remainders would be subnormal by 2^24, and m^(-1/3) of that nearly.
#[inline(always)]
fn start(x: f32, small: bool) -> (f32, f32) {
    let a = f32::select(small, x.magnitude() * 16777216.0, x.magnitude());
    let y = f32::from_bits(0x54a2_1d2a_u32.wrapping_sub(a.to_bits() / 3));
    (a, refined(a, y))
}

/// The cube root: 0.5000004 ulp.
#[inline(always)]
pub(crate) fn cbrt(x: f32) -> f32 {
    let small = x.magnitude() < 7.888609e-31;
    let (a, y) = start(x, small);
    let y = refined(a, y);
    let root = a * y * y;
    let square = two_product(root, root);
    let remainder = (-square.lo).fma(root, (-square.hi).fma(root, a));
    let root = (remainder * f32::THIRD[0] * y).fma(y, root);
    let result = f32::select(small, root * 0.00390625, root).with_sign(x);
    f32::select(x == 0.0 || !x.is_finite(), x, result)
}

/// 1 / ∛x.
#[inline(always)]
pub(crate) fn rcbrt(x: f32) -> f32 {
    let small = x.magnitude() < f32::MIN_POSITIVE;
    let (a, y) = start(x, small);
    // y + y·e/3, where e = 1 - a·y³ in two products of which neither is rounded alone.
    let square = y * y;
    let product = two_product(a, y);
    let e = (-product.lo).fma(square, (-product.hi).fma(square, 1.0));
    let e = (-product.hi).fma(y.fma(y, -square), e);
    let root = (y * e).fma(e.fma(0.22222222, f32::THIRD[0]), y);
    let result = f32::select(small, root * 256.0, root);
    let result =
        f32::select(x == 0.0, f32::INFINITY, f32::select(x.magnitude() == f32::INFINITY, 0.0, result));
    f32::select(x.is_nan(), x, result.with_sign(x))
}

/// 1 / √(x² + y²).
#[inline(always)]
pub(crate) fn rhypot(x: f32, y: f32) -> f32 {
    let (a, b) = (x.magnitude(), y.magnitude());
    let greatest = f32::select(a > b, a, b);
    // A power of two that scales the greater one to near one.
    let exponent = (greatest.to_bits() & f32::INFINITY.to_bits()) as i32;
    let scale = f32::from_bits((0x7e80_0000 - exponent).max(0x0080_0000) as u32);
    let (a, b) = (a * scale, b * scale);
    let square = two_product(a, a);
    let other = two_product(b, b);
    let sum = square.hi + other.hi;
    // The greater part first, so that the sum's rounding error is exact.
    let (more, less) = if square.hi > other.hi { (square.hi, other.hi) } else { (other.hi, square.hi) };
    let low = (less - (sum - more)) + (square.lo + other.lo);
    let inverse = sum.inner_root().inverse();
    // i·(1 + e/2) with e = 1 - (sum + low)·i²
    let squared = two_product(inverse, inverse);
    let e = (-low).fma(squared.hi, (-sum).fma(squared.lo, (-sum).fma(squared.hi, 1.0)));
    let result = (0.5 * inverse).fma(e, inverse) * scale;
    let result = f32::select(sum == 0.0, f32::INFINITY, result);
    f32::select(a == f32::INFINITY || b == f32::INFINITY, 0.0, result)
}
