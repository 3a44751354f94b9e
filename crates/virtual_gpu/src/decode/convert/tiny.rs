//! `cvt` between pairs of floats of 8, 6 and 4 bits and wider ones.

use ptx::ScalarType;

use super::Modes;
use crate::alu::Round;
use crate::alu::convert::{self, Narrow};
use crate::alu::exact::Format;
use crate::alu::half;
use crate::decode::Refusal;
use crate::decode::function::Decoder;
use crate::decode::instruction::Form;
use crate::form::lanewise::{Evaluate, each1, each2};

/// A format of which `cvt` makes two at a time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tiny {
    /// Eight bits, or six of eight.
    Byte(Format),
    /// Four bits: both in one byte.
    Nibble(Format),
    /// `ue8m0`: an exponent.
    Power,
}

impl Tiny {
    pub fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "e4m3x2" => Tiny::Byte(Format::E4M3),
            "e5m2x2" => Tiny::Byte(Format::E5M2),
            "e2m3x2" => Tiny::Byte(Format::E2M3),
            "e3m2x2" => Tiny::Byte(Format::E3M2),
            "e2m1x2" => Tiny::Nibble(Format::E2M1),
            "ue8m0x2" => Tiny::Power,
            _ => return None,
        })
    }

    /// The register of a pair.
    fn register(self) -> ScalarType {
        if matches!(self, Tiny::Nibble(_)) { ScalarType::B8 } else { ScalarType::B16 }
    }

    /// The pair of two patterns.
    fn join(self, high: u16, low: u16) -> u16 {
        if matches!(self, Tiny::Nibble(_)) { high << 4 | low } else { high << 8 | low }
    }
}

/// `cvt.rn.satfinite.e4m3x2.f32 d, a, b` and `…e4m3x2.f16x2 d, a`.
pub(super) fn narrow(
    d: &mut Decoder<'_>,
    f: &Form<'_>,
    from: ScalarType,
    to: Tiny,
    m: &Modes,
) -> Result<Evaluate, Refusal> {
    let mode = Narrow { round: Round::Nearest, relu: m.relu, satfinite: m.satfinite, sat: false };
    let (round, finite) = (m.round.unwrap_or_default(), m.satfinite);
    let one = move |a: f64| match to {
        Tiny::Byte(format) | Tiny::Nibble(format) => convert::to_narrow(a, format, mode) & 0xff,
        Tiny::Power => convert::to_power(a, round, finite).into(),
    };
    match (from, f.operands) {
        (ScalarType::F32, [t, a, b]) => {
            let (a, b) = (d.source(a, from)?, d.source(b, from)?);
            let t = d.real_target(t, to.register())?;
            Ok(each2(t, a, b, move |a: f32, b: f32| to.join(one(a.into()), one(b.into()))))
        }
        (ScalarType::F16x2 | ScalarType::Bf16x2, [t, a]) => {
            let a = d.source(a, from)?;
            let t = d.real_target(t, to.register())?;
            let bf16 = from == ScalarType::Bf16x2;
            Ok(each1(t, a, move |a: u32| {
                let part = |a: u32| one(convert::half_to_f64(a as u16, bf16));
                to.join(part(a >> 16), part(a))
            }))
        }
        _ => Err(Refusal::new("its operands do not fit")),
    }
}

/// `cvt.rn.f16x2.e4m3x2 d, a`.
pub(super) fn widen(
    d: &mut Decoder<'_>,
    f: &Form<'_>,
    to: ScalarType,
    from: Tiny,
    m: &Modes,
) -> Result<Evaluate, Refusal> {
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
        return Err(Refusal(format!("a conversion from this format to `{to}` is not known")));
    }
    let [t, a] = f.operands()?;
    let a = d.source(a, from.register())?;
    let t = d.real_target(t, to)?;
    let (shift, mask) = if matches!(from, Tiny::Nibble(_)) { (4, 0xf) } else { (8, 0xff) };
    Ok(each1(t, a, move |a: u16| {
        let part = |a: u16| u32::from(one(a & mask).unwrap_or_default());
        part(a >> shift) << 16 | part(a)
    }))
}
