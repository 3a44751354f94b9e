//! `cvt`: between integers, floats, and the packed narrow formats.
//!
//! Integers pass as 64 bits, sign- or zero-extended ([`extend`]); 16-bit and narrower floats as bit patterns.

use super::Round;
use super::exact::{Exact, Format};
use super::float::{NAN_F32, canonical, flush_f32, quiet_f64, saturate_f32, saturate_f64, tiny_f32};
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
    // Casts saturate.
    match (width, signed) {
        (64, true) => a as i64 as u64,
        (64, false) => a as u64,
        (_, true) => {
            let max = i32::MAX >> (32 - width);
            (a as i32).clamp(-max - 1, max) as i64 as u64
        }
        (_, false) => (a as u32).min(u32::MAX >> (32 - width)) as u64,
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

/// A NaN of `.f64` in a narrower format of `fraction` fraction bits: sign and the payload's upper bits stay, made quiet.
fn narrow_nan(a: f64, fraction: u32, width: u32) -> u32 {
    let sign = (a.to_bits() >> 63) << (width - 1);
    let exponent = (1 << (width - 1)) - (1 << fraction);
    let payload = (a.to_bits() & ((1 << 52) - 1)) >> (52 - fraction);
    (sign | exponent | 1 << (fraction - 1) | payload) as u32
}

/// `cvt.f32.f64`.
#[inline]
pub fn f64_to_f32(a: f64, round: Round, ftz: bool, sat: bool) -> f32 {
    let r = if a.is_nan() {
        f32::from_bits(narrow_nan(a, 23, 32))
    } else if round == Round::Nearest || a.is_infinite() {
        a as f32
    } else {
        f32::from_bits(Exact::from_f64(a).round(Format::F32, round) as u32)
    };
    let smallest = ftz && r.abs() == f32::MIN_POSITIVE;
    let r =
        if smallest && tiny_f32(Exact::from_f64(a), round) { 0.0f32.copysign(r) } else { flush_f32(r, ftz) };
    if sat { saturate_f32(r) } else { r }
}

/// `cvt.f64.f32`.
#[inline]
pub fn f32_to_f64(a: f32, ftz: bool, sat: bool) -> f64 {
    let a = flush_f32(a, ftz);
    // Flushing is an addition, which makes NaN canonical.
    let a = if ftz { canonical(a) } else { a };
    let r = if a.is_nan() { quiet_f64(a as f64) } else { a as f64 };
    if sat { saturate_f64(r) } else { r }
}

/// `cvt.rni.f32.f32` and its likes, and `cvt.f32.f32` without a rounding, which without modifiers is a move.
#[inline]
pub fn f32_to_f32(a: f32, integer: Option<Round>, ftz: bool, sat: bool) -> f32 {
    if integer.is_none() && !ftz && !sat {
        return a;
    }
    let a = flush_f32(a, ftz);
    let r = match integer {
        _ if a.is_nan() => NAN_F32,
        Some(round) => round_to_int(a as f64, round) as f32,
        None => a,
    };
    if sat { saturate_f32(r) } else { r }
}

/// `cvt.rni.f64.f64` and its likes, and `cvt.f64.f64` without a rounding, which without modifiers is a move.
#[inline]
pub fn f64_to_f64(a: f64, integer: Option<Round>, sat: bool) -> f64 {
    if integer.is_none() && !sat {
        return a;
    }
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
    let canonical = half::is_nan::<H>(a) && !H::WIDENS_BY_SHIFT;
    let r = if canonical { NAN_F32 } else { flush_f32(H::to_f32(a), ftz) };
    if sat { saturate_f32(r) } else { r }
}

/// Modifiers of `cvt` to a narrow float besides rounding.
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
    narrow_by(a, format, mode, |a| match format {
        Format::F16 if mode.round == Round::Nearest => half::from_f64::<F16>(a),
        Format::BF16 if mode.round == Round::Nearest => half::from_f64::<Bf16>(a),
        _ => Exact::from_f64(a).round(format, mode.round) as u16,
    })
}

/// `cvt.rs`: [`to_narrow`], rounded by a random number of `bits` bits.
pub fn to_narrow_randomly(a: f32, format: Format, mode: Narrow, random: u32, bits: u32) -> u16 {
    narrow_by(a.into(), format, mode, |a| Exact::from_f64(a).round_randomly(format, random, bits) as u16)
}

/// A conversion with its modifiers and special values, around `round` of finite values.
fn narrow_by(a: f64, format: Format, mode: Narrow, round: impl Fn(f64) -> u16) -> u16 {
    let sign = 1u16 << (64 - format.largest.leading_zeros());
    if a.is_nan() {
        return if mode.sat { 0 } else { sign - 1 };
    }
    let a = if mode.sat { saturate_f64(a) } else { a };
    if mode.relu && a.is_sign_negative() {
        return 0;
    }
    let largest = format.largest as u16;
    if format.only_numbers() {
        // There is nothing above the largest, which `.satfinite` always stands for.
        let most = tiny_to_f64(largest as u8, format);
        return round(a.clamp(-most, most));
    }
    let infinity = (if a < 0.0 { sign } else { 0 }) | (largest + 1);
    let bits = if a.is_infinite() { infinity } else { round(a) };
    if mode.satfinite && bits & (sign - 1) > largest { bits & sign | largest } else { bits }
}

/// `cvt` from `.f64` to a 16-bit float, which unlike the others keeps what fits of a NaN.
pub fn f64_to_half(a: f64, format: Format, mode: Narrow) -> u16 {
    if a.is_nan() && !mode.sat && !mode.relu {
        return narrow_nan(a, format.fraction, 16) as u16;
    }
    to_narrow(a, format, mode)
}

/// `cvt.rn.f16.f32` without modifiers, the common case.
#[inline]
pub fn f32_to_half<H: Half>(a: f32) -> u16 {
    half::from_f64::<H>(a as f64)
}

/// `cvt.rna.tf32.f32` (and `.rn`, `.rz`): the `.b32` pattern, with its low 13 bits zero.
pub fn f32_to_tf32(a: f32, mode: Narrow) -> u32 {
    if mode.round == Round::Away {
        // ptxas makes integer operations of it, which let NaN payloads show.
        let rounded = if a.is_finite() { a.to_bits() + 0x1000 } else { a.to_bits() } & 0xffff_e000;
        let finite = f32::from_bits(rounded).is_finite();
        return if mode.satfinite && !finite { rounded - 0x2000 } else { rounded };
    }
    if a.is_nan() {
        return NAN_F32.to_bits() & 0xffff_e000;
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

/// Widens a format of eight bits or fewer to the `.f16` pattern; all fit exactly.
pub fn tiny_to_f16(a: u8, format: Format) -> u16 {
    let width = if format.only_numbers() { 64 - format.largest.leading_zeros() } else { 7 };
    let negative = a >> width & 1 != 0;
    let sign = (negative as u16) << 15;
    let magnitude = a as u64 & ((1 << width) - 1);
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

/// The value of such a float.
pub fn tiny_to_f64(a: u8, format: Format) -> f64 {
    half::to_f64::<F16>(tiny_to_f16(a, format))
}

/// `cvt` to `.ue8m0`: the exponent of the magnitude, biased by 127; 0xff is NaN.
pub fn to_power(a: f64, round: Round, satfinite: bool) -> u8 {
    if a.is_nan() {
        return 0xff;
    }
    let a = a.abs();
    // Every power of two from 2^-127 on is a normal f64.
    let (exponent, exact) = ((a.to_bits() >> 52) as i32 - 1023, a.to_bits() << 12 == 0);
    let up = round == Round::Up && !exact && a > 2f64.powi(-127);
    let power = exponent.saturating_add(127 + i32::from(up));
    match u8::try_from(power.max(0)) {
        Ok(power) if power < 0xff => power,
        _ if satfinite => 0xfe,
        _ => 0xff,
    }
}

/// Widens `.ue8m0` to the `.bf16` pattern.
pub fn power_to_bf16(a: u8) -> u16 {
    match a {
        // 2^-127 is subnormal.
        0 => 0x40,
        0xff => half::NAN,
        a => (a as u16) << 7,
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alu::samples::Samples;

    #[test]
    fn floats_to_integers() {
        let to = |a: f64, round, width, signed| float_to_int(a, false, round, width, signed);
        assert_eq!(to(2.5, Round::Nearest, 32, true), 2);
        assert_eq!(to(-2.5, Round::Down, 32, true) as i64, -3);
        assert_eq!(to(-2.5, Round::Zero, 32, true) as i64, -2);
        assert_eq!(to(2.1, Round::Up, 32, false), 3);
        assert_eq!(to(-1.0, Round::Zero, 32, false), 0);
        assert_eq!(to(300.0, Round::Zero, 8, false), 255);
        assert_eq!(to(-300.0, Round::Zero, 8, true) as i64, -128);
        assert_eq!(to(1e30, Round::Zero, 64, true), i64::MAX as u64);
        assert_eq!(to(f64::NEG_INFINITY, Round::Zero, 64, true) as i64, i64::MIN);
        assert_eq!(to(f64::INFINITY, Round::Zero, 64, false), u64::MAX);
        assert_eq!(to(f64::NAN, Round::Zero, 32, true), 0);
        assert_eq!(to(f64::NAN, Round::Zero, 64, false), 1 << 63);
        assert_eq!(float_to_int(f64::NAN, true, Round::Zero, 32, true) as i64, i32::MIN as i64);
        assert_eq!(float_to_int(f64::NAN, true, Round::Zero, 32, false), 1 << 31);
    }

    #[test]
    fn integers_to_floats() {
        let mut samples = Samples(30);
        for _ in 0..50_000 {
            let r = samples.bits();
            let a = r >> (samples.bits() & 63);
            let down = int_to_f32(a, false, Round::Down) as f64 as u128;
            let up = int_to_f32(a, false, Round::Up) as f64 as u128;
            assert!(down <= a as u128 && a as u128 <= up);
            let ulp = (u128::BITS - (a as u128).leading_zeros()).saturating_sub(24);
            assert!(up - down == 0 || up - down == 1 << ulp, "{a}");
            assert_eq!(up == down, a.is_multiple_of(1 << ulp));
            let s = -((a >> 1) as i64) as u64;
            assert_eq!(int_to_f64(s, true, Round::Zero), -int_to_f64(a >> 1, false, Round::Down));
        }
        assert_eq!(int_to_f32(-1i64 as u64, true, Round::Nearest), -1.0);
        assert_eq!(int_to_half(65_520, false, Format::F16, Round::Nearest), 0x7c00);
        assert_eq!(int_to_half(65_535, false, Format::F16, Round::Zero), 0x7bff);
        assert_eq!(saturate_int(-5, 8, false), 0);
        assert_eq!(saturate_int(200, 8, true), 127);
        assert_eq!(extend(0x1ff, 8, true) as i64, -1);
    }

    #[test]
    fn floats_to_floats() {
        assert_eq!(f64_to_f32(1e300, Round::Zero, false, false), f32::MAX);
        assert_eq!(f64_to_f32(-1e300, Round::Down, false, false), f32::NEG_INFINITY);
        assert_eq!(f64_to_f32(1e-320, Round::Up, false, false).to_bits(), 1);
        assert_eq!(f64_to_f32(1e-40, Round::Nearest, true, false).to_bits(), 0);
        assert_eq!(f64_to_f32(f64::NAN, Round::Nearest, false, true).to_bits(), 0);
        assert_eq!(f32_to_f32(-0.4, Some(Round::Nearest), false, false).to_bits(), 0x8000_0000);
        assert_eq!(f32_to_f32(1e-40, Some(Round::Up), false, false), 1.0);
        assert_eq!(f32_to_f32(1e-40, Some(Round::Up), true, false), 0.0);
        assert_eq!(f32_to_f64(2.0, false, true), 1.0);
    }

    #[test]
    fn narrow_formats() {
        let rn = Narrow::default();
        let finite = Narrow { satfinite: true, ..rn };
        assert_eq!(to_narrow(500.0, Format::E4M3, finite), 0x7e);
        assert_eq!(to_narrow(-500.0, Format::E4M3, finite), 0xfe);
        assert_eq!(to_narrow(f64::INFINITY, Format::E5M2, finite), 0x7b);
        assert_eq!(to_narrow(f64::NAN, Format::E4M3, finite), 0x7f);
        assert_eq!(to_narrow(1e6, Format::F16, rn), 0x7c00);
        assert_eq!(to_narrow(1e6, Format::F16, Narrow { round: Round::Zero, ..rn }), 0x7bff);
        assert_eq!(to_narrow(-1.0, Format::BF16, Narrow { relu: true, ..rn }), 0);
        assert_eq!(to_narrow(f64::NAN, Format::F16, Narrow { relu: true, ..rn }), 0x7fff);
        assert_eq!(to_narrow(f64::NAN, Format::F16, Narrow { sat: true, ..rn }), 0);
        let away = Narrow { round: Round::Away, ..rn };
        assert_eq!(f32_to_tf32(f32::from_bits(0x3f80_1000), away), 0x3f80_2000);
        assert_eq!(f32_to_tf32(f32::from_bits(0x3f80_1000), rn), 0x3f80_0000);
        assert_eq!(f32_to_tf32(f32::MAX, away), 0x7f80_0000);
        assert_eq!(f32_to_tf32(f32::NEG_INFINITY, Narrow { satfinite: true, ..away }), 0xff7f_e000);
        assert_eq!(f32_to_tf32(f32::from_bits(0x7fff_ffff), away), 0x7fff_e000);
    }

    #[test]
    fn eight_bit_floats_widen_to_their_values() {
        for a in 0..=255u8 {
            let sign = if a & 0x80 != 0 { -1.0 } else { 1.0 };
            let (field, fraction) = ((a >> 3 & 15) as i32, (a & 7) as f64);
            let e4m3 = match field {
                0 => fraction / 8.0 * 2f64.powi(-6),
                _ => (1.0 + fraction / 8.0) * 2f64.powi(field - 7),
            };
            let got = tiny_to_f16(a, Format::E4M3);
            if a & 0x7f == 0x7f {
                assert_eq!(got, half::NAN);
            } else {
                assert_eq!(half::to_f64::<F16>(got), sign * e4m3);
                assert_eq!(to_narrow(sign * e4m3, Format::E4M3, Narrow::default()), a as u16);
            }
            let got = tiny_to_f16(a, Format::E5M2);
            if a & 0x7f <= 0x7c {
                assert_eq!(got, (a as u16) << 8);
            } else {
                assert_eq!(got, half::NAN);
            }
        }
    }

    /// The values are those of the formats' definition (OCP Microscaling, section 5.3).
    #[test]
    fn six_and_four_bit_floats() {
        let e2m1 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
        for (a, value) in e2m1.into_iter().enumerate() {
            assert_eq!(half::to_f64::<F16>(tiny_to_f16(a as u8, Format::E2M1)), value);
            assert_eq!(half::to_f64::<F16>(tiny_to_f16(a as u8 | 8, Format::E2M1)), -value);
        }
        let to = |a: f64, format| to_narrow(a, format, Narrow { satfinite: true, ..Narrow::default() });
        assert_eq!(to(2.5, Format::E2M1), 4, "to even");
        assert_eq!(to(-100.0, Format::E2M1), 15);
        assert_eq!(to(f64::NAN, Format::E2M1), 7);
        assert_eq!(to(0.25, Format::E2M1), 0);
        assert_eq!(to(7.6, Format::E2M3), 0x1f);
        assert_eq!(to(-7.5, Format::E2M3), 0x3f);
        assert_eq!(to(0.125, Format::E2M3), 1);
        assert_eq!(to(28.0, Format::E3M2), 0x1f);
        assert_eq!(to(f64::NEG_INFINITY, Format::E3M2), 0x3f);
        assert_eq!(to(0.0625, Format::E3M2), 1);
        for a in 0..64u8 {
            for format in [Format::E2M3, Format::E3M2] {
                assert_eq!(to(half::to_f64::<F16>(tiny_to_f16(a, format)), format), a.into());
            }
        }
    }

    #[test]
    fn powers() {
        assert_eq!(to_power(1.0, Round::Zero, true), 127);
        assert_eq!(to_power(-3.0, Round::Zero, true), 128);
        assert_eq!(to_power(3.0, Round::Up, true), 129);
        assert_eq!(to_power(f64::INFINITY, Round::Zero, true), 254);
        assert_eq!(to_power(f64::INFINITY, Round::Zero, false), 255);
        assert_eq!(to_power(f64::NAN, Round::Up, true), 255);
        assert_eq!(to_power(0.0, Round::Up, true), 0);
        assert_eq!(to_power(f32::MAX.into(), Round::Up, true), 254);
        assert_eq!(to_power(2f64.powi(-149), Round::Up, true), 0);
        assert_eq!(power_to_bf16(127), 0x3f80);
        assert_eq!(power_to_bf16(0), 0x0040);
        assert_eq!(power_to_bf16(255), 0x7fff);
    }

    #[test]
    fn packing() {
        assert_eq!(pack(70_000, -5, 0, 16, false), 0xffff_0000);
        assert_eq!(pack(200, -200, 0x1234_5678, 8, true), 0x5678_7f80);
        assert_eq!(pack(9, -9, 0x1234_5678, 4, true), 0x3456_7878);
        assert_eq!(pack(5, 1, 0x1234_5678, 2, false), 0x2345_678d);
    }
}
