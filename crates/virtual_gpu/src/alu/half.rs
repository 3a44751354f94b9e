//! Arithmetic of `.f16` and `.bf16` on bit patterns, rounded once.
//!
//! Operands widen to `f64`, where sums and products of these formats are exact or made odd-rounded, so that the one
//! rounding to 16 bits is the only one. Packed forms apply the scalar ones to both halves with [`packed2`] and its likes.

use super::compare::FloatCmp;
use super::special;

/// A 16-bit floating-point format.
pub trait Half {
    /// Explicit fraction bits.
    const FRACTION: u32;
    /// Exponent of the smallest normal number.
    const MIN_EXPONENT: i32;
    /// The pattern of infinity.
    const INFINITY: u16;
    /// The pattern of one.
    const ONE: u16;
    /// Whether `cvt.f32` is a plain shift, which leaves NaN as it is.
    const WIDENS_BY_SHIFT: bool;
    /// Widens, exactly.
    fn to_f32(bits: u16) -> f32;
    /// Narrows a value that the format holds exactly, or that lies beyond its largest.
    fn exact_from_f32(a: f32) -> u16;
}

/// IEEE binary16.
pub struct F16;
/// The upper half of binary32.
pub struct Bf16;

/// The NaN that operations on both formats return.
pub const NAN: u16 = 0x7fff;

impl Half for F16 {
    const FRACTION: u32 = 10;
    const MIN_EXPONENT: i32 = -14;
    const INFINITY: u16 = 0x7c00;
    const ONE: u16 = 0x3c00;
    const WIDENS_BY_SHIFT: bool = false;

    #[inline]
    fn to_f32(bits: u16) -> f32 {
        // Without branches, for loops that become vectors, and without subnormal `f32`, at which processors stop.
        let magnitude = (bits & 0x7fff) as u32;
        let normal = (magnitude << 13) + ((127 - 15) << 23);
        let subnormal = (magnitude as f32 * f32::from_bits((127 - 24) << 23)).to_bits();
        let number = if magnitude < 0x400 { subnormal } else { normal };
        let value = if magnitude >= 0x7c00 { 0x7f80_0000 | magnitude << 13 } else { number };
        f32::from_bits(value | ((bits & 0x8000) as u32) << 16)
    }

    #[inline]
    fn exact_from_f32(a: f32) -> u16 {
        let sign = (a.to_bits() >> 16 & 0x8000) as u16;
        let scaled = f32::from_bits(a.to_bits() & 0x7fff_ffff) * f32::from_bits(0x0780_0000);
        sign | (scaled.to_bits() >> 13).min(0x7c00) as u16
    }
}

impl Half for Bf16 {
    const FRACTION: u32 = 7;
    const MIN_EXPONENT: i32 = -126;
    const INFINITY: u16 = 0x7f80;
    const ONE: u16 = 0x3f80;
    const WIDENS_BY_SHIFT: bool = true;

    #[inline]
    fn to_f32(bits: u16) -> f32 {
        f32::from_bits((bits as u32) << 16)
    }

    #[inline]
    fn exact_from_f32(a: f32) -> u16 {
        (a.to_bits() >> 16) as u16
    }
}

/// Widens, exactly.
#[inline]
pub fn to_f64<H: Half>(bits: u16) -> f64 {
    H::to_f32(bits) as f64
}

/// Whether the pattern is NaN.
#[inline]
pub fn is_nan<H: Half>(bits: u16) -> bool {
    bits & 0x7fff > H::INFINITY
}

/// `.rn` from `f64`, in one rounding; NaN becomes [`NAN`].
#[inline]
pub fn from_f64<H: Half>(a: f64) -> u16 {
    // Adding and subtracting 1.5 * 2^k rounds to the unit 2^(k-52): the unit of `a` in this format. Beyond its largest
    // any unit will do. Without branches, for loops that become vectors.
    let power = |exponent: i32| f64::from_bits(((exponent + 1023) as u64) << 52);
    let clamped = a.abs().max(power(H::MIN_EXPONENT)).min(power(128));
    let unit = (clamped.to_bits() >> 52) + (52 - H::FRACTION) as u64;
    let magic = f64::from_bits(unit << 52 | 1 << 51);
    let rounded = ((a.abs() + magic) - magic).copysign(a);
    let number = H::exact_from_f32(rounded as f32);
    if a.is_nan() { NAN } else { number }
}

/// The sum of two `f64`, rounded to odd: an inexact sum keeps the neighbour whose last bit is one, so that a second
/// rounding to 16 bits is as good as one from the exact sum.
#[inline]
fn add_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let (big, small) = if a.abs() >= b.abs() { (a, b) } else { (b, a) };
    let error = small - (sum - big);
    if error == 0.0 || !sum.is_finite() || sum.to_bits() & 1 != 0 {
        return sum;
    }
    let towards_zero = (error < 0.0) == (sum > 0.0);
    f64::from_bits(if towards_zero { sum.to_bits() - 1 } else { sum.to_bits() + 1 })
}

/// The modifiers of a 16-bit operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Mode {
    /// `.ftz`: subnormal operands and results become zeros of their sign.
    pub ftz: bool,
    /// `.sat`: clamps to 0..=1, NaN becomes +0.
    pub sat: bool,
    /// `.relu`: negative results become +0, NaN stays the canonical one.
    pub relu: bool,
}

/// `.ftz`: a subnormal becomes a zero of its sign.
#[inline]
pub fn flush<H: Half>(a: u16, ftz: bool) -> u16 {
    if ftz && a & H::INFINITY == 0 { a & 0x8000 } else { a }
}

#[inline]
fn finish<H: Half>(a: f64, mode: Mode) -> u16 {
    let bits = from_f64::<H>(a);
    // Flushed is what lies below the smallest normal number when rounded whatever its exponent, see `float`.
    let smallest = bits & 0x7fff == 1 << H::FRACTION;
    let tiny =
        smallest && a.abs() < H::to_f32(1 << H::FRACTION) as f64 * (1.0 - 0.25 / (1 << H::FRACTION) as f64);
    let bits = if mode.ftz && tiny { bits & 0x8000 } else { flush::<H>(bits, mode.ftz) };
    if mode.sat {
        if is_nan::<H>(bits) || bits & 0x8000 != 0 { 0 } else { bits.min(H::ONE) }
    } else if mode.relu {
        relu::<H>(bits)
    } else {
        bits
    }
}

/// `.relu` on a result: negative values become +0, NaN the canonical one.
#[inline]
pub fn relu<H: Half>(bits: u16) -> u16 {
    if is_nan::<H>(bits) {
        NAN
    } else if bits & 0x8000 != 0 {
        0
    } else {
        bits
    }
}

#[inline]
fn operand<H: Half>(a: u16, mode: Mode) -> f64 {
    to_f64::<H>(flush::<H>(a, mode.ftz))
}

/// `add.f16`, `add.bf16`.
#[inline]
pub fn add<H: Half>(a: u16, b: u16, mode: Mode) -> u16 {
    finish::<H>(add_odd(operand::<H>(a, mode), operand::<H>(b, mode)), mode)
}

/// `sub.f16`, `sub.bf16`.
#[inline]
pub fn sub<H: Half>(a: u16, b: u16, mode: Mode) -> u16 {
    add::<H>(a, b ^ 0x8000, mode)
}

/// `mul.f16`, `mul.bf16`.
#[inline]
pub fn mul<H: Half>(a: u16, b: u16, mode: Mode) -> u16 {
    finish::<H>(operand::<H>(a, mode) * operand::<H>(b, mode), mode)
}

/// `fma.f16`, `fma.bf16`.
#[inline]
pub fn fma<H: Half>(a: u16, b: u16, c: u16, mode: Mode) -> u16 {
    finish::<H>(add_odd(operand::<H>(a, mode) * operand::<H>(b, mode), operand::<H>(c, mode)), mode)
}

/// `abs`. It is an addition on the hardware, so NaN becomes the canonical one.
#[inline]
pub fn abs<H: Half>(a: u16, ftz: bool) -> u16 {
    if is_nan::<H>(a) { NAN } else { flush::<H>(a & 0x7fff, ftz) }
}

/// `neg`. It is an addition on the hardware, so NaN becomes the canonical one.
#[inline]
pub fn neg<H: Half>(a: u16, ftz: bool) -> u16 {
    if is_nan::<H>(a) { NAN } else { flush::<H>(a ^ 0x8000, ftz) }
}

#[inline]
pub fn min_max<H: Half>(a: u16, b: u16, mode: super::float::MinMax) -> u16 {
    let (a, b) = (flush::<H>(a, mode.ftz), flush::<H>(b, mode.ftz));
    let sign = (a ^ b) & 0x8000;
    let (a, b) = if mode.xorsign { (a & 0x7fff, b & 0x7fff) } else { (a, b) };
    let (a_nan, b_nan) = (is_nan::<H>(a), is_nan::<H>(b));
    if (a_nan && b_nan) || (mode.nan && (a_nan || b_nan)) {
        return NAN;
    }
    // Sign-magnitude patterns as integers in value order, -0 below +0.
    let key = |x: u16| if x & 0x8000 != 0 { !(x as i16 & 0x7fff) } else { x as i16 };
    let first = if a_nan || b_nan { b_nan } else { (key(a) < key(b)) ^ mode.max };
    let chosen = if first { a } else { b };
    if mode.xorsign { chosen | sign } else { chosen }
}

/// `setp` and `set` on 16-bit floats.
#[inline]
pub fn compare<H: Half>(op: FloatCmp, a: u16, b: u16, ftz: bool) -> bool {
    super::compare::float(op, H::to_f32(flush::<H>(a, ftz)), H::to_f32(flush::<H>(b, ftz)))
}

/// `ex2.approx`: that of `f32`, cut to the format.
#[inline]
pub fn ex2<H: Half>(a: u16) -> u16 {
    cut_f32::<H>(special::exp2(H::to_f32(a)))
}

/// `tanh.approx`: that of `f32`, cut to the format.
#[inline]
pub fn tanh<H: Half>(a: u16) -> u16 {
    cut_f32::<H>(special::tanh(H::to_f32(a)))
}

/// Narrows toward zero; what lies beyond the largest number becomes infinite, NaN becomes [`NAN`].
#[inline]
fn cut_f32<H: Half>(a: f32) -> u16 {
    let below = 1u32 << (23 - H::FRACTION);
    let magnitude = a.abs();
    let number = if magnitude < H::to_f32(1 << H::FRACTION) {
        let unit = H::to_f32(1);
        (a.to_bits() >> 16 & 0x8000) as u16 | (magnitude / unit) as u16
    } else {
        H::exact_from_f32(f32::from_bits(a.to_bits() & !(below - 1)))
    };
    if a.is_nan() { NAN } else { number }
}

/// Applies a scalar operation to both halves: the `x2` form with one operand.
#[inline]
pub fn packed1(a: u32, op: impl Fn(u16) -> u16) -> u32 {
    op(a as u16) as u32 | (op((a >> 16) as u16) as u32) << 16
}

/// The `x2` form with two operands.
#[inline]
pub fn packed2(a: u32, b: u32, op: impl Fn(u16, u16) -> u16) -> u32 {
    op(a as u16, b as u16) as u32 | (op((a >> 16) as u16, (b >> 16) as u16) as u32) << 16
}

/// The `x2` form with three operands.
#[inline]
pub fn packed3(a: u32, b: u32, c: u32, op: impl Fn(u16, u16, u16) -> u16) -> u32 {
    let high = op((a >> 16) as u16, (b >> 16) as u16, (c >> 16) as u16);
    op(a as u16, b as u16, c as u16) as u32 | (high as u32) << 16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alu::Round;
    use crate::alu::exact::{Exact, Format};
    use crate::alu::samples::Samples;

    /// An `f16` as an integer multiple of 2^-24.
    fn fixed(bits: u16) -> i128 {
        let (field, fraction) = (bits >> 10 & 0x1f, (bits & 0x3ff) as i128);
        let magnitude = if field == 0 { fraction } else { (fraction + 1024) << (field - 1) };
        if bits & 0x8000 != 0 { -magnitude } else { magnitude }
    }

    /// The `f16` nearest to a nonzero multiple of 2^-48, by integer comparisons alone.
    fn nearest(exact: i128) -> u16 {
        let magnitude = exact.unsigned_abs();
        let (mut low, mut high) = (0u16, 0x7c00u16);
        while high - low > 1 {
            let middle = (low + high) / 2;
            if (fixed(middle) as u128) << 24 <= magnitude { low = middle } else { high = middle }
        }
        let (below, above) = ((fixed(low) as u128) << 24, (fixed(high) as u128) << 24);
        let (to_below, to_above) = (magnitude - below, above.abs_diff(magnitude));
        let up = magnitude >= above || to_above < to_below || (to_above == to_below && low & 1 == 1);
        (low + up as u16) | if exact < 0 { 0x8000 } else { 0 }
    }

    #[test]
    fn f16_agrees_with_integer_arithmetic() {
        let mut samples = Samples(5);
        for _ in 0..400_000 {
            let r = samples.bits();
            let (a, b, mut c) = (r as u16, (r >> 16) as u16, (r >> 32) as u16);
            if r >> 63 != 0 {
                // A sum that lies at or near a tie: c of the product's magnitude times 2^±11.
                c = c & 0x83ff | mul::<F16>(a, b, Mode::default()) & 0x7c00;
            }
            if [a, b, c].iter().any(|x| x & 0x7c00 == 0x7c00) {
                continue;
            }
            let mode = Mode::default();
            let (sum, product) = (fixed(a) + fixed(b), fixed(a) * fixed(b));
            let fused = product + (fixed(c) << 24);
            if sum != 0 {
                assert_eq!(add::<F16>(a, b, mode), nearest(sum << 24), "{a:04x} + {b:04x}");
            }
            if product != 0 {
                assert_eq!(mul::<F16>(a, b, mode), nearest(product), "{a:04x} * {b:04x}");
            }
            if fused != 0 {
                assert_eq!(fma::<F16>(a, b, c, mode), nearest(fused), "{a:04x} * {b:04x} + {c:04x}");
            }
        }
    }

    #[test]
    fn fma_is_not_rounded_twice() {
        // 1 + 2^-10 halves: the product's tail decides a tie that f32 cannot see.
        let (a, b) = (0x0001, 0x0001);
        assert_eq!(fma::<F16>(a, b, 0x3c00, Mode::default()), 0x3c00);
        // 2049 * 1 is a tie between 2048 and 2050; a product just above it goes up.
        let just_above = fma::<F16>(0x0001, 0x0001, 0, Mode::default());
        assert_eq!(just_above, 0);
        assert_eq!(
            fma::<F16>(0x6801, 0x3801, 0x0001, Mode::default()),
            nearest(fixed(0x6801) * fixed(0x3801) + (1 << 24))
        );
    }

    #[test]
    fn bf16_agrees_with_exact_arithmetic() {
        let mut samples = Samples(6);
        for _ in 0..400_000 {
            let r = samples.bits();
            let (a, b, mut c) = (r as u16, (r >> 16) as u16, (r >> 32) as u16);
            if r >> 62 != 0 {
                c = c & 0x807f | mul::<Bf16>(a, b, Mode::default()) & 0x7f80;
            }
            if [a, b, c].iter().any(|x| x & 0x7f80 == 0x7f80) {
                continue;
            }
            let exact = |x: u16| Exact::from_f64(to_f64::<Bf16>(x));
            let round = |e: Exact| e.round(Format::BF16, Round::Nearest) as u16;
            assert_eq!(add::<Bf16>(a, b, Mode::default()), round(exact(a).plus(exact(b), Round::Nearest)));
            let product = exact(a).times(exact(b));
            assert_eq!(mul::<Bf16>(a, b, Mode::default()), round(product), "{a:04x} * {b:04x}");
            let fused = round(product.plus(exact(c), Round::Nearest));
            assert_eq!(fma::<Bf16>(a, b, c, Mode::default()), fused, "{a:04x} * {b:04x} + {c:04x}");
        }
    }

    #[test]
    fn widening_and_narrowing_agree_with_the_half_crate() {
        for bits in 0..=u16::MAX {
            let (f, b) = (::half::f16::from_bits(bits), ::half::bf16::from_bits(bits));
            if !f.is_nan() {
                assert_eq!(F16::to_f32(bits).to_bits(), f.to_f32_const().to_bits());
                assert_eq!(from_f64::<F16>(to_f64::<F16>(bits)), bits);
            }
            if !b.is_nan() {
                assert_eq!(Bf16::to_f32(bits).to_bits(), b.to_f32_const().to_bits());
                assert_eq!(from_f64::<Bf16>(to_f64::<Bf16>(bits)), bits);
            }
        }
        let mut samples = Samples(7);
        for _ in 0..300_000 {
            let a = samples.f32();
            assert_eq!(from_f64::<F16>(a as f64), ::half::f16::from_f32_const(a).to_bits(), "{a:e}");
            assert_eq!(from_f64::<Bf16>(a as f64), ::half::bf16::from_f32_const(a).to_bits(), "{a:e}");
        }
    }

    /// Numbers of all magnitudes, and such as lie close to the middle between two neighbours.
    #[test]
    fn narrowing_agrees_with_exact_rounding() {
        fn check<H: Half>(a: f64, format: Format) {
            let expected = match a {
                a if a.is_nan() => NAN,
                a if a.is_infinite() => H::INFINITY | (a.to_bits() >> 48 & 0x8000) as u16,
                a => Exact::from_f64(a).round(format, Round::Nearest) as u16,
            };
            assert_eq!(from_f64::<H>(a), expected, "{a:e}");
        }
        let mut state = 1u64;
        for _ in 0..400_000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let bits = state ^ state >> 31;
            // Exponents near those of the formats, and fractions of few bits or one more.
            let exponent = (1023 - 160 + (bits >> 48) % 320) << 52;
            let short = bits & 1 << 63 | exponent | bits & 0x000f_ffc0_0000_0000 | bits & 1;
            for a in [bits, short, short & !1].map(f64::from_bits) {
                check::<F16>(a, Format::F16);
                check::<Bf16>(a, Format::BF16);
            }
        }
    }

    #[test]
    fn ordering_and_special_values() {
        use crate::alu::float::MinMax;
        let (min, max) = (MinMax::default(), MinMax { max: true, ..MinMax::default() });
        for a in (0..=u16::MAX).step_by(7) {
            for b in (0..=u16::MAX).step_by(1009) {
                if is_nan::<F16>(a) || is_nan::<F16>(b) {
                    continue;
                }
                let (low, high) = (min_max::<F16>(a, b, min), min_max::<F16>(a, b, max));
                assert!(F16::to_f32(low) <= F16::to_f32(high));
                assert!((low == a && high == b) || (low == b && high == a));
            }
        }
        assert_eq!(min_max::<F16>(0, 0x8000, min), 0x8000);
        assert_eq!(min_max::<Bf16>(0x7fc0, 0x3f80, min), 0x3f80);
        assert_eq!(add::<F16>(0x7c00, 0xfc00, Mode::default()), NAN);
        assert_eq!(fma::<F16>(0xbc00, 0x3c00, 0, Mode { relu: true, ..Mode::default() }), 0);
        assert_eq!(add::<F16>(0x7bff, 0x7bff, Mode::default()), 0x7c00);
        assert_eq!(ex2::<F16>(0x4000), 0x4400);
        assert_eq!(tanh::<Bf16>(0x7f80), 0x3f80);
    }
}
