//! `cvt`: between integers, floats, and the packed narrow formats.
//!
//! Integers pass as 64 bits, sign- or zero-extended ([`extend`]); 16-bit and narrower floats as bit patterns.

use super::Round;
use super::exact::{Exact, Format};
use super::float::{NAN_F32, flush_f32, quiet_f64, saturate_f32, saturate_f64};
use super::half::{self, Bf16, F16, Half};

/// Float to integer by `.rni`, `.rzi`, `.rmi`, `.rpi`; out of range clamps.
///
/// NaN becomes 0 if the destination has 32 bits or fewer and the source is not `.f64`, else the top bit alone.
/// `width` is 8, 16, 32 or 64; the result is sign- or zero-extended to 64 bits.
#[inline]
pub fn float_to_int(a: f64, from_f64: bool, round: Round, width: u32, signed: bool) -> u64 {
    if a.is_nan() {
        return if from_f64 || width == 64 { nan_int(width, signed) } else { 0 };
    }
    let a = round_to_int(a, round);
    if signed {
        let max = (i64::MAX >> (64 - width)) as i128;
        (a as i128).clamp(-max - 1, max) as u64
    } else {
        (a as u128).min((u64::MAX >> (64 - width)) as u128) as u64
    }
}

fn nan_int(width: u32, signed: bool) -> u64 {
    let top = 1u64 << (width - 1);
    if signed { ((top << (64 - width)) as i64 >> (64 - width)) as u64 } else { top }
}

/// `.rni` and its likes within a float.
#[inline]
pub fn round_to_int(a: f64, round: Round) -> f64 {
    match round {
        Round::Nearest => a.round_ties_even(),
        Round::Zero => a.trunc(),
        Round::Down => a.floor(),
        Round::Up => a.ceil(),
        Round::Away => a.round(),
    }
}

/// Integer to integer with `.sat`: clamps to the destination's range, extended to 64 bits.
#[inline]
pub fn saturate_int(a: i128, width: u32, signed: bool) -> u64 {
    if signed {
        let max = (i64::MAX >> (64 - width)) as i128;
        a.clamp(-max - 1, max) as u64
    } else {
        a.clamp(0, (u64::MAX >> (64 - width)) as i128) as u64
    }
}

/// Keeps the low `width` bits of `a`, sign- or zero-extended to 64.
#[inline]
pub fn extend(a: u64, width: u32, signed: bool) -> u64 {
    let spare = 64 - width;
    if signed { ((a << spare) as i64 >> spare) as u64 } else { a << spare >> spare }
}

/// Integer to `.f32`; a signed source is given sign-extended.
#[inline]
pub fn int_to_f32(a: u64, signed: bool, round: Round) -> f32 {
    if round == Round::Nearest {
        return if signed { a as i64 as f32 } else { a as f32 };
    }
    f32::from_bits(int_exact(a, signed).round(Format::F32, round) as u32)
}

/// Integer to `.f64`; a signed source is given sign-extended.
#[inline]
pub fn int_to_f64(a: u64, signed: bool, round: Round) -> f64 {
    if round == Round::Nearest {
        return if signed { a as i64 as f64 } else { a as f64 };
    }
    f64::from_bits(int_exact(a, signed).round(Format::F64, round))
}

/// Integer to a 16-bit float; a signed source is given sign-extended.
pub fn int_to_half(a: u64, signed: bool, format: Format, round: Round) -> u16 {
    int_exact(a, signed).round(format, round) as u16
}

fn int_exact(a: u64, signed: bool) -> Exact {
    let negative = signed && (a as i64) < 0;
    Exact::from_int(negative, if negative { a.wrapping_neg() } else { a })
}

/// `cvt.f32.f64`.
#[inline]
pub fn f64_to_f32(a: f64, round: Round, ftz: bool, sat: bool) -> f32 {
    let r = if a.is_nan() {
        NAN_F32
    } else if round == Round::Nearest || a.is_infinite() {
        a as f32
    } else {
        f32::from_bits(Exact::from_f64(a).round(Format::F32, round) as u32)
    };
    let r = flush_f32(r, ftz);
    if sat { saturate_f32(r) } else { r }
}

/// `cvt.f64.f32`.
#[inline]
pub fn f32_to_f64(a: f32, ftz: bool, sat: bool) -> f64 {
    let a = flush_f32(a, ftz);
    let r = if a.is_nan() { quiet_f64(a as f64) } else { a as f64 };
    if sat { saturate_f64(r) } else { r }
}

/// `cvt.rni.f32.f32` and its likes, and plain `cvt.f32.f32` without a rounding.
#[inline]
pub fn f32_to_f32(a: f32, integer: Option<Round>, ftz: bool, sat: bool) -> f32 {
    let a = flush_f32(a, ftz);
    let r = match integer {
        _ if a.is_nan() => NAN_F32,
        Some(round) => round_to_int(a as f64, round) as f32,
        None => a,
    };
    if sat { saturate_f32(r) } else { r }
}

/// `cvt.rni.f64.f64` and its likes.
#[inline]
pub fn f64_to_f64(a: f64, integer: Option<Round>, sat: bool) -> f64 {
    let r = match integer {
        _ if a.is_nan() => quiet_f64(a),
        Some(round) => round_to_int(a, round),
        None => a,
    };
    if sat { saturate_f64(r) } else { r }
}

/// `cvt.f32.f16` and `cvt.f32.bf16`.
#[inline]
pub fn half_to_f32<H: Half>(a: u16, ftz: bool, sat: bool) -> f32 {
    let r = if half::is_nan::<H>(a) { NAN_F32 } else { flush_f32(H::to_f32(a), ftz) };
    if sat { saturate_f32(r) } else { r }
}

/// What `cvt` to a narrow float may do besides rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Narrow {
    /// Rounding direction.
    pub round: Round,
    /// `.relu`: negative results become +0.
    pub relu: bool,
    /// `.satfinite`: too large a magnitude, infinity included, becomes the largest finite one.
    pub satfinite: bool,
    /// `.sat`: clamps to 0..=1, NaN becomes +0.
    pub sat: bool,
}

/// `cvt` from any float to `.f16`, `.bf16`, `.e4m3` or `.e5m2`: the pattern, right-aligned.
pub fn to_narrow(a: f64, format: Format, mode: Narrow) -> u16 {
    let sign = 1u16 << (64 - format.largest.leading_zeros());
    if a.is_nan() {
        return if mode.sat { 0 } else { sign - 1 };
    }
    let a = if mode.sat { saturate_f64(a) } else { a };
    if mode.relu && a.is_sign_negative() {
        return 0;
    }
    let largest = format.largest as u16;
    let bits = if a.is_infinite() {
        (if a < 0.0 { sign } else { 0 }) | (largest + 1)
    } else {
        Exact::from_f64(a).round(format, mode.round) as u16
    };
    if mode.satfinite && bits & (sign - 1) > largest { bits & sign | largest } else { bits }
}

/// `cvt.rn.f16.f32` without modifiers, the common case.
#[inline]
pub fn f32_to_half<H: Half>(a: f32) -> u16 {
    half::from_f64::<H>(a as f64)
}

/// `cvt.rna.tf32.f32` (and `.rn`, `.rz`): the `.b32` pattern, with its low 13 bits zero.
pub fn f32_to_tf32(a: f32, mode: Narrow) -> u32 {
    if a.is_nan() {
        return NAN_F32.to_bits();
    }
    if mode.relu && a.is_sign_negative() {
        return 0;
    }
    let bits = if a.is_infinite() {
        a.to_bits()
    } else {
        (Exact::from_f64(a as f64).round(Format::TF32, mode.round) as u32) << 13
    };
    if mode.satfinite && bits & 0x7fff_ffff == 0x7f80_0000 { bits & 0x8000_0000 | 0x7f7f_e000 } else { bits }
}

/// Widens `.e4m3` or `.e5m2` (one byte) to the `.f16` pattern; both fit exactly.
pub fn fp8_to_f16(a: u8, format: Format) -> u16 {
    let sign = ((a & 0x80) as u16) << 8;
    let magnitude = (a & 0x7f) as u64;
    if magnitude > format.largest {
        let infinite = format == Format::E5M2 && magnitude == format.largest + 1;
        return if infinite { sign | F16::INFINITY } else { half::NAN };
    }
    let field = magnitude >> format.fraction;
    let fraction = magnitude & ((1 << format.fraction) - 1);
    let significand = if field == 0 { fraction } else { fraction | 1 << format.fraction };
    let exponent = field.max(1) as i32 - format.bias - format.fraction as i32;
    sign | Exact::new(false, significand as u128, exponent).round(Format::F16, Round::Nearest) as u16
}

/// `cvt.pack.sat.ty.s32 d, a, b`: `a` saturated into the high part, `b` into the low; `c` supplies the rest, shifted up,
/// for destinations narrower than 16 bits.
#[inline]
pub fn pack(a: i32, b: i32, c: u32, width: u32, signed: bool) -> u32 {
    let mask = (1u64 << width) - 1;
    let part = |x: i32| (saturate_int(x as i128, width, signed) & mask) as u32;
    let low = part(a) << width | part(b);
    if width == 16 { low } else { c << (2 * width) | low }
}

/// The 16-bit float of a type's name, for callers that pick at run time.
#[inline]
pub fn half_to_f64(a: u16, bf16: bool) -> f64 {
    if bf16 { half::to_f64::<Bf16>(a) } else { half::to_f64::<F16>(a) }
}
