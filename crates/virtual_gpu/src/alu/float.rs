//! Arithmetic of `.f32` and `.f64` in all rounding directions.
//!
//! To nearest is the processor's own; the directed roundings go through [`Exact`]. `.f32` results that are NaN are the one
//! pattern that the hardware makes; `.f64` results keep the payload of the first NaN operand, made quiet.

use super::Round;
use super::exact::{Exact, Format};

/// The NaN that `.f32` operations return.
pub const NAN_F32: f32 = f32::from_bits(0x7fff_ffff);
/// The NaN of an invalid `.f64` operation.
pub const NAN_F64: f64 = f64::from_bits(0xfff8_0000_0000_0000);

/// The modifiers of an `.f32` operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Mode {
    /// `.rn`, `.rz`, `.rm`, `.rp`
    pub round: Round,
    /// `.ftz`: subnormal operands and results become zeros of their sign.
    pub ftz: bool,
    /// `.sat`: clamps to 0..=1, NaN becomes +0.
    pub sat: bool,
}

impl Mode {
    /// `.rn` and nothing else.
    pub const RN: Self = Self { round: Round::Nearest, ftz: false, sat: false };

    #[inline]
    fn operand(self, a: f32) -> f32 {
        flush_f32(a, self.ftz)
    }

    #[inline]
    fn result(self, a: f32) -> f32 {
        let a = flush_f32(canonical(a), self.ftz);
        if self.sat { saturate_f32(a) } else { a }
    }
}

/// `.ftz`: a subnormal becomes a zero of its sign.
#[inline]
pub fn flush_f32(a: f32, ftz: bool) -> f32 {
    if ftz && a.to_bits() & 0x7f80_0000 == 0 { f32::from_bits(a.to_bits() & 0x8000_0000) } else { a }
}

/// `.sat`: clamps to 0..=1; NaN and minus zero become +0.
#[inline]
pub fn saturate_f32(a: f32) -> f32 {
    if a > 0.0 { if a < 1.0 { a } else { 1.0 } } else { 0.0 }
}

/// `.sat` of `.f64` (conversions only).
#[inline]
pub fn saturate_f64(a: f64) -> f64 {
    if a > 0.0 { if a < 1.0 { a } else { 1.0 } } else { 0.0 }
}

/// Replaces any NaN by the hardware's.
#[inline]
pub fn canonical(a: f32) -> f32 {
    if a.is_nan() { NAN_F32 } else { a }
}

/// Makes a NaN quiet.
#[inline]
pub fn quiet_f64(a: f64) -> f64 {
    f64::from_bits(a.to_bits() | 1 << 51)
}

/// The NaN of an `.f64` operation on these operands.
#[cold]
fn nan_f64(operands: &[f64]) -> f64 {
    operands.iter().find(|a| a.is_nan()).map_or(NAN_F64, |&a| quiet_f64(a))
}

fn round_f32(exact: Exact, round: Round) -> f32 {
    f32::from_bits(exact.round(Format::F32, round) as u32)
}

fn round_f64(exact: Exact, round: Round) -> f64 {
    f64::from_bits(exact.round(Format::F64, round))
}

fn wide(a: f32) -> Exact {
    Exact::from_f64(a as f64)
}

/// `add.f32`.
#[inline]
pub fn add_f32(a: f32, b: f32, mode: Mode) -> f32 {
    let (a, b) = (mode.operand(a), mode.operand(b));
    mode.result(if mode.round == Round::Nearest || !a.is_finite() || !b.is_finite() {
        a + b
    } else {
        round_f32(wide(a).plus(wide(b), mode.round), mode.round)
    })
}

/// `sub.f32`.
#[inline]
pub fn sub_f32(a: f32, b: f32, mode: Mode) -> f32 {
    add_f32(a, -b, mode)
}

/// `mul.f32`.
#[inline]
pub fn mul_f32(a: f32, b: f32, mode: Mode) -> f32 {
    let (a, b) = (mode.operand(a), mode.operand(b));
    mode.result(if mode.round == Round::Nearest || !a.is_finite() || !b.is_finite() {
        a * b
    } else {
        round_f32(wide(a).times(wide(b)), mode.round)
    })
}

/// `fma.f32` and `mad.f32`.
#[inline]
pub fn fma_f32(a: f32, b: f32, c: f32, mode: Mode) -> f32 {
    let (a, b, c) = (mode.operand(a), mode.operand(b), mode.operand(c));
    let finite = a.is_finite() && b.is_finite() && c.is_finite();
    mode.result(if mode.round == Round::Nearest || !finite {
        a.mul_add(b, c)
    } else {
        round_f32(wide(a).times(wide(b)).plus(wide(c), mode.round), mode.round)
    })
}

/// `div.rn/.rz/.rm/.rp.f32`.
#[inline]
pub fn div_f32(a: f32, b: f32, mode: Mode) -> f32 {
    let (a, b) = (mode.operand(a), mode.operand(b));
    let exact = a.is_finite() && b.is_finite() && b != 0.0;
    mode.result(if mode.round == Round::Nearest || !exact {
        a / b
    } else {
        round_f32(wide(a).over(wide(b)), mode.round)
    })
}

/// `rcp.rn/.rz/.rm/.rp.f32`.
#[inline]
pub fn rcp_f32(a: f32, mode: Mode) -> f32 {
    div_f32(1.0, a, mode)
}

/// `sqrt.rn/.rz/.rm/.rp.f32`.
#[inline]
pub fn sqrt_f32(a: f32, mode: Mode) -> f32 {
    let a = mode.operand(a);
    mode.result(if mode.round == Round::Nearest || !(a >= 0.0 && a.is_finite()) {
        a.sqrt()
    } else {
        round_f32(wide(a).sqrt(), mode.round)
    })
}

/// `add.f64`.
#[inline]
pub fn add_f64(a: f64, b: f64, round: Round) -> f64 {
    let nearest = a + b;
    if nearest.is_nan() {
        nan_f64(&[a, b])
    } else if round == Round::Nearest || !a.is_finite() || !b.is_finite() {
        nearest
    } else {
        round_f64(Exact::from_f64(a).plus(Exact::from_f64(b), round), round)
    }
}

/// `sub.f64`.
#[inline]
pub fn sub_f64(a: f64, b: f64, round: Round) -> f64 {
    if b.is_nan() { nan_f64(&[a, b]) } else { add_f64(a, -b, round) }
}

/// `mul.f64`.
#[inline]
pub fn mul_f64(a: f64, b: f64, round: Round) -> f64 {
    let nearest = a * b;
    if nearest.is_nan() {
        nan_f64(&[a, b])
    } else if round == Round::Nearest || !a.is_finite() || !b.is_finite() {
        nearest
    } else {
        round_f64(Exact::from_f64(a).times(Exact::from_f64(b)), round)
    }
}

/// `fma.f64` and `mad.f64`.
#[inline]
pub fn fma_f64(a: f64, b: f64, c: f64, round: Round) -> f64 {
    let nearest = a.mul_add(b, c);
    if nearest.is_nan() {
        nan_f64(&[a, b, c])
    } else if round == Round::Nearest || !a.is_finite() || !b.is_finite() || !c.is_finite() {
        nearest
    } else {
        let product = Exact::from_f64(a).times(Exact::from_f64(b));
        round_f64(product.plus(Exact::from_f64(c), round), round)
    }
}

/// `div.rn/.rz/.rm/.rp.f64`.
#[inline]
pub fn div_f64(a: f64, b: f64, round: Round) -> f64 {
    let nearest = a / b;
    if nearest.is_nan() {
        nan_f64(&[a, b])
    } else if round == Round::Nearest || !a.is_finite() || !b.is_finite() || b == 0.0 {
        nearest
    } else {
        round_f64(Exact::from_f64(a).over(Exact::from_f64(b)), round)
    }
}

/// `rcp.rn/.rz/.rm/.rp.f64`.
#[inline]
pub fn rcp_f64(a: f64, round: Round) -> f64 {
    div_f64(1.0, a, round)
}

/// `sqrt.rn/.rz/.rm/.rp.f64`.
#[inline]
pub fn sqrt_f64(a: f64, round: Round) -> f64 {
    let nearest = a.sqrt();
    if nearest.is_nan() {
        nan_f64(&[a])
    } else if round == Round::Nearest || !a.is_finite() {
        nearest
    } else {
        round_f64(Exact::from_f64(a).sqrt(), round)
    }
}

/// `abs.f32`: clears the sign, of NaN too.
#[inline]
pub fn abs_f32(a: f32, ftz: bool) -> f32 {
    flush_f32(f32::from_bits(a.to_bits() & 0x7fff_ffff), ftz)
}

/// `neg.f32`: flips the sign, of NaN too.
#[inline]
pub fn neg_f32(a: f32, ftz: bool) -> f32 {
    flush_f32(f32::from_bits(a.to_bits() ^ 0x8000_0000), ftz)
}

/// `abs.f64`.
#[inline]
pub fn abs_f64(a: f64) -> f64 {
    f64::from_bits(a.to_bits() & !(1 << 63))
}

/// `neg.f64`.
#[inline]
pub fn neg_f64(a: f64) -> f64 {
    f64::from_bits(a.to_bits() ^ 1 << 63)
}

/// `copysign.f32 d, a, b`: the sign of `a` on the magnitude of `b`.
#[inline]
pub fn copysign_f32(a: f32, b: f32) -> f32 {
    f32::from_bits(a.to_bits() & 0x8000_0000 | b.to_bits() & 0x7fff_ffff)
}

/// `copysign.f64 d, a, b`: the sign of `a` on the magnitude of `b`.
#[inline]
pub fn copysign_f64(a: f64, b: f64) -> f64 {
    f64::from_bits(a.to_bits() & 1 << 63 | b.to_bits() & !(1 << 63))
}

/// The modifiers of `min` and `max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct MinMax {
    /// `max`, else `min`.
    pub max: bool,
    /// `.ftz`
    pub ftz: bool,
    /// `.NaN`: a NaN operand makes the result NaN.
    pub nan: bool,
    /// `.xorsign.abs`: compares magnitudes; the sign is that of the product.
    pub xorsign: bool,
}

/// `min.f32` and `max.f32`. A NaN operand loses to a number unless `.NaN`; -0 is below +0.
#[inline]
pub fn min_max_f32(a: f32, b: f32, mode: MinMax) -> f32 {
    let (a, b) = (flush_f32(a, mode.ftz), flush_f32(b, mode.ftz));
    let sign = (a.to_bits() ^ b.to_bits()) & 0x8000_0000;
    let (a, b) = if mode.xorsign { (abs_f32(a, false), abs_f32(b, false)) } else { (a, b) };
    let either = a.is_nan() || b.is_nan();
    if either && (mode.nan || (a.is_nan() && b.is_nan())) {
        return NAN_F32;
    }
    let first = if either {
        b.is_nan()
    } else {
        // Sign-magnitude order, in which -0 precedes +0.
        (a.total_cmp(&b).is_lt()) ^ mode.max
    };
    let chosen = if first { a } else { b };
    if mode.xorsign { f32::from_bits(chosen.to_bits() | sign) } else { chosen }
}

/// `min.f64` (and `max.f64` with `max`).
#[inline]
pub fn min_max_f64(a: f64, b: f64, max: bool) -> f64 {
    match (a.is_nan(), b.is_nan()) {
        (true, true) => quiet_f64(a),
        (true, false) => b,
        (false, true) => a,
        (false, false) => {
            if a.total_cmp(&b).is_lt() ^ max {
                a
            } else {
                b
            }
        }
    }
}
