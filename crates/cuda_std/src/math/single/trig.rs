//! Inverse functions of the circle.

use crate::math::poly32;
use crate::math::real::Real;

/// s and asin(s) - s, where s = |x| up to one half, beyond √((1 - |x|) / 2): the sine of half the angle to 1.
#[inline(always)]
fn asin_of(a: f32, large: bool) -> (f32, f32) {
    let z = f32::select(large, (-0.5_f32).fma(a, 0.5), a * a);
    let s = f32::select(large, z.inner_root(), a);
    (s, (s * z) * f32::asin_tail(z))
}

/// The arc sine.
#[inline(always)]
pub(crate) fn asin(x: f32) -> f32 {
    let a = x.magnitude();
    let large = a > 0.5;
    let (s, tail) = asin_of(a, large);
    let rest = (-2.0_f32).fma(s, f32::PI_2[0]) + (-2.0_f32).fma(tail, f32::PI_2[1]);
    let result = f32::select(large, rest, s + tail).with_sign(x);
    f32::select(a > 1.0, f32::NAN, result)
}

/// The arc cosine.
#[inline(always)]
pub(crate) fn acos(x: f32) -> f32 {
    let a = x.magnitude();
    let large = a > 0.5;
    let (s, tail) = asin_of(a, large);
    let p = s + tail;
    // The result is 2p, π - 2p, or π/2 ∓ p.
    let angle = f32::select(large, -(p + p), p.with_sign(-x));
    let low = f32::select(large, f32::PI[1], f32::PI_2[1]);
    let base = f32::select(large, f32::PI[0], f32::PI_2[0]);
    let added = base + (low + angle);
    let result = f32::select(large && x > 0.0, p + p, added);
    f32::select(a > 1.0, f32::NAN, result)
}

/// The arc tangent.
#[inline(always)]
pub(crate) fn atan(x: f32) -> f32 {
    let a = x.magnitude();
    let large = a > 1.0;
    // From 2^60 on the inverse no longer counts.
    let t = f32::select(large, a.min(1152921504606846976.0).inverse(), a);
    let z = t * t;
    let p = (t * z).fma(poly32::atan_whole(z), t);
    let rest = f32::PI_2[0] + (f32::PI_2[1] - p);
    f32::select(large, rest, p).with_sign(x)
}
