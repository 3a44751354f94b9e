//! `cvt` to and from formats of eight bits or fewer, `cvt.pack`, and `cvt.rs`: rounded by the random bits of a register.
//!
//! A value becomes the next larger magnitude if adding the random bits to those that are cut off of its mantissa carries.
//! The manual says which bits of the register each pair of values is given; where it leaves the rest to figures:
//!
//! - fewer random bits than are cut off stand at the upper end of those, in subnormal results too;
//! - of a pair that is given 16 bits together, the second value takes them as they are and the first in reverse, as users
//!   have measured for `.e4m3x4` on sm_100a. The other formats of four values are taken to do the same, `.e2m1x4` with the
//!   two bytes that it names for a pair one after the other.

use ptx::ScalarType;

use super::lanewise::{each_of, each1, each2, each3, map2};
use super::{Evaluate, Unknown};
use crate::alu::Round;
use crate::alu::convert::{self, Narrow};
use crate::alu::exact::Format;
use crate::alu::half::{self, Bf16, F16, Half};
use crate::form::arithmetic::Arithmetic;
use crate::form::qualifiers::{Convert, Qualifiers, Tiny};

/// `cvt.pack`, `cvt.rs`
pub(super) fn evaluation(o: &Arithmetic) -> Result<Evaluate, Unknown> {
    let t = o.target();
    match o.qualifiers {
        Qualifiers::ConvertPack { width, signed } => {
            let [a, b, c] = o.sources()?;
            Ok(each3(t, a, b, c, move |a, b, c| convert::pack(a, b, c, width, signed)))
        }
        Qualifiers::ConvertRandomly { format, mode } => match o.sources[..] {
            [a, b, random] => {
                let bits = if format == Format::BF16 { 16 } else { 13 };
                Ok(each_of(t, [a, b], random, move |values, random: u32| {
                    let mask = (1 << bits) - 1;
                    let given = [random >> 16 & mask, random & mask];
                    join(values, given, 16, |a, random| {
                        convert::to_narrow_randomly(a, format, mode, random, bits)
                    })
                }))
            }
            [a, b, e, f, random] => {
                let one = move |a, random| convert::to_narrow_randomly(a, format, mode, random, 16);
                Ok(if format == Format::E2M1 {
                    each_of(t, [a, b, e, f], random, move |values, random: u32| {
                        let [h, g, l, k] = random.to_be_bytes();
                        join(values, shared([[h, l], [g, k]]), 4, one) as u16
                    })
                } else {
                    each_of(t, [a, b, e, f], random, move |values, random: u32| {
                        let [h, g, l, k] = random.to_be_bytes();
                        join(values, shared([[h, g], [l, k]]), 8, one)
                    })
                })
            }
            _ => Err(Unknown::new("its operands do not fit")),
        },
        _ => Err(Unknown::form()),
    }
}

/// The part of a pair's 16 bits that each of four values gets.
fn shared(pairs: [[u8; 2]; 2]) -> [u32; 4] {
    let [first, second] = pairs.map(u16::from_be_bytes);
    [first.reverse_bits(), first, second.reverse_bits(), second].map(u32::from)
}

/// Converts each value by its random bits; the first comes uppermost.
fn join<const N: usize>(
    values: [f32; N],
    random: [u32; N],
    width: u32,
    one: impl Fn(f32, u32) -> u16,
) -> u32 {
    values.into_iter().zip(random).fold(0, |joined, (a, random)| joined << width | u32::from(one(a, random)))
}

/// `cvt.rn.f16x2.f32 d, a, b`: `a` goes into the high half.
pub(super) fn to_pair(o: &Arithmetic, to: ScalarType, m: Convert) -> Result<Evaluate, Unknown> {
    let format = if to == ScalarType::Bf16x2 { Format::BF16 } else { Format::F16 };
    let round = m.round.ok_or_else(|| Unknown::new("it needs a rounding"))?;
    let mode = Narrow { round, relu: m.relu, satfinite: m.satfinite, sat: false };
    let (t, [a, b]) = (o.target(), o.sources()?);
    if mode == Narrow::default() {
        // The common case.
        return Ok(match to {
            ScalarType::Bf16x2 => map2(t, a, b, pair_of::<Bf16>),
            _ => map2(t, a, b, pair_of::<F16>),
        });
    }
    Ok(each2(t, a, b, move |a: f32, b: f32| {
        let high = convert::to_narrow(a.into(), format, mode);
        let low = convert::to_narrow(b.into(), format, mode);
        u32::from(high) << 16 | u32::from(low)
    }))
}

/// Rounded to nearest.
#[inline(always)]
fn pair_of<H: Half>(high: f32, low: f32) -> u32 {
    u32::from(convert::f32_to_half::<H>(high)) << 16 | u32::from(convert::f32_to_half::<H>(low))
}

/// `cvt.rn.satfinite.e4m3x2.f32 d, a, b` and `…e4m3x2.f16x2 d, a`. `pair`: the type of two values in one register.
pub(super) fn to_tiny(
    o: &Arithmetic,
    to: Tiny,
    pair: Option<ScalarType>,
    m: Convert,
) -> Result<Evaluate, Unknown> {
    let mode = Narrow { round: Round::Nearest, relu: m.relu, satfinite: m.satfinite, sat: false };
    let (round, finite) = (m.round.unwrap_or_default(), m.satfinite);
    let one = move |a: f64| match to {
        Tiny::Byte(format) | Tiny::Nibble(format) => convert::to_narrow(a, format, mode) & 0xff,
        Tiny::Power => convert::to_power(a, round, finite).into(),
    };
    let shift = if matches!(to, Tiny::Nibble(_)) { 4 } else { 8 };
    let join = move |high: u16, low: u16| high << shift | low;
    match (pair, &o.sources[..]) {
        (None, &[a, b]) => {
            Ok(each2(o.target(), a, b, move |a: f32, b: f32| join(one(a.into()), one(b.into()))))
        }
        (Some(pair), &[a]) => {
            let bf16 = pair == ScalarType::Bf16x2;
            Ok(each1(o.target(), a, move |a: u32| {
                let part = |a: u32| one(convert::half_to_f64(a as u16, bf16));
                join(part(a >> 16), part(a))
            }))
        }
        _ => Err(Unknown::new("its operands do not fit")),
    }
}

/// `cvt.rn.f16x2.e4m3x2 d, a`.
pub(super) fn from_tiny(o: &Arithmetic, to: ScalarType, from: Tiny, m: Convert) -> Result<Evaluate, Unknown> {
    let (relu, finite) = (m.relu, m.satfinite);
    let one = move |a: u16| match (from, to) {
        (Tiny::Byte(format) | Tiny::Nibble(format), ScalarType::F16x2) => {
            let bits = convert::tiny_to_f16(a as u8, format);
            Some(if relu { half::relu::<half::F16>(bits) } else { bits })
        }
        (Tiny::Byte(format) | Tiny::Nibble(format), ScalarType::Bf16x2) => {
            let mode = Narrow { relu, satfinite: finite, ..Narrow::default() };
            Some(convert::to_narrow(convert::tiny_to_f64(a as u8, format), Format::BF16, mode))
        }
        (Tiny::Power, ScalarType::Bf16x2) => Some(convert::power_to_bf16(a as u8)),
        _ => None,
    };
    if one(0).is_none() {
        return Err(Unknown(format!("a conversion from this format to `{to}` is not known")));
    }
    let [a] = o.sources()?;
    let (shift, mask) = if matches!(from, Tiny::Nibble(_)) { (4, 0xf) } else { (8, 0xff) };
    Ok(each1(o.target(), a, move |a: u16| {
        let part = |a: u16| u32::from(one(a & mask).unwrap_or_default());
        part(a >> shift) << 16 | part(a)
    }))
}
