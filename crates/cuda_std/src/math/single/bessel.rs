//! Modified Bessel functions: polynomials in x² up to 8, beyond e^x/√x times one in 1/x.

use super::exp::{parts, scaled};
use crate::math::poly32;
use crate::math::real::Real;

/// e^a / √a·P(1/a) for a >= 8.
#[inline(always)]
fn large(a: f32, polynomial: impl Fn(f32) -> f32) -> f32 {
    // Beyond 92 the result is infinite.
    let a = f32::select(a > 93.0, 93.0, a);
    let inverse = a.inverse();
    let (m, k_bits) = parts(a, 0.0);
    scaled(m * (polynomial(inverse) * inverse.inner_root()), k_bits)
}

/// The modified Bessel function of the first kind, order 0.
#[inline(always)]
pub(crate) fn i0(x: f32) -> f32 {
    let a = x.magnitude();
    let t = (0.25 * a) * a;
    let small = t.fma(poly32::i0_small(t), 1.0);
    f32::select(a > 8.0, large(a, poly32::i0_large), small)
}

/// The modified Bessel function of the first kind, order 1.
#[inline(always)]
pub(crate) fn i1(x: f32) -> f32 {
    let a = x.magnitude();
    let t = (0.25 * a) * a;
    let half = 0.5 * a;
    let small = (half * t).fma(poly32::i1_small(t), half);
    f32::select(a > 8.0, large(a, poly32::i1_large), small).with_sign(x)
}
