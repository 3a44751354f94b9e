//! Arithmetic of `.f16` and `.bf16` on bit patterns, rounded once.
//!
//! Operands widen to `f64`, where sums and products of these formats are exact or made odd-rounded, so that the one
//! rounding to 16 bits is the only one. Packed forms apply the scalar ones to both halves with [`packed2`] and its likes.

use super::compare::FloatCmp;

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

    #[inline]
    fn to_f32(bits: u16) -> f32 {
        // The fields moved into place are the value times 2^-112, subnormals included.
        let scaled = f32::from_bits(((bits & 0x7fff) as u32) << 13) * f32::from_bits(0x7780_0000);
        let magnitude = if bits & 0x7c00 == 0x7c00 {
            0x7f80_0000 | ((bits & 0x3ff) as u32) << 13
        } else {
            scaled.to_bits()
        };
        f32::from_bits(magnitude | ((bits & 0x8000) as u32) << 16)
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
    if a.is_nan() {
        return NAN;
    }
    // Adding and subtracting 1.5 * 2^k rounds to the unit 2^(k-52): the unit of `a` in this format.
    let exponent = ((a.to_bits() >> 52 & 0x7ff) as i32 - 1023).max(H::MIN_EXPONENT);
    if exponent > 128 {
        return H::INFINITY | (a.to_bits() >> 48 & 0x8000) as u16;
    }
    let field = (exponent - H::FRACTION as i32 + 52 + 1023) as u64;
    let magic = f64::from_bits(field << 52 | 1 << 51);
    let rounded = ((a.abs() + magic) - magic).copysign(a);
    H::exact_from_f32(rounded as f32)
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
    let bits = flush::<H>(from_f64::<H>(a), mode.ftz);
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

/// `abs`: clears the sign.
#[inline]
pub fn abs<H: Half>(a: u16, ftz: bool) -> u16 {
    flush::<H>(a & 0x7fff, ftz)
}

/// `neg`: flips the sign.
#[inline]
pub fn neg<H: Half>(a: u16, ftz: bool) -> u16 {
    flush::<H>(a ^ 0x8000, ftz)
}

/// `min` and `max`.
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

/// `ex2.approx`: the correctly rounded value.
#[inline]
pub fn ex2<H: Half>(a: u16, ftz: bool) -> u16 {
    let a = to_f64::<H>(flush::<H>(a, ftz));
    flush::<H>(from_f64::<H>(a.exp2()), ftz)
}

/// `tanh.approx`: the correctly rounded value.
#[inline]
pub fn tanh<H: Half>(a: u16) -> u16 {
    from_f64::<H>(to_f64::<H>(a).tanh())
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
