//! `cvt`.

use ptx::{Constant, Operand, ScalarType};

use super::Refusal;
use super::function::Decoder;
use super::modifiers::{Form, Modifiers};
use crate::alu::Round;
use crate::alu::convert::Narrow;
use crate::alu::exact::Format;
use crate::form::op::OpKind;
use crate::form::qualifiers::{Convert, Converted, Qualifiers, Tiny};
use crate::form::registers::{NONE, Slot};

/// A type of `cvt` as the text has it.
enum Type {
    Scalar(ScalarType),
    Tiny(Tiny),
}

impl Tiny {
    fn from_word(word: &str) -> Option<Self> {
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

    /// The register of a pair: untyped, as `.bf16` has it.
    fn register(self) -> ScalarType {
        if matches!(self, Tiny::Nibble(_)) { ScalarType::B8 } else { ScalarType::Bf16 }
    }
}

/// Takes the first type or tiny format.
fn take_type(m: &mut Modifiers<'_>) -> Result<Type, Refusal> {
    m.take_map(|word| {
        let tiny = Tiny::from_word(word).map(Type::Tiny);
        tiny.or_else(|| ScalarType::from_word(word).map(Type::Scalar))
    })
    .ok_or_else(|| Refusal::new("it names no type"))
}

/// Decodes one.
pub(super) fn decode(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let m = &mut f.modifiers;
    if m.take("pack") {
        return pack(d, f);
    }
    if m.take("rs") {
        return randomly(d, f);
    }
    let nothing = Converted::Scalar(ScalarType::Pred, ScalarType::Pred);
    let convert = Convert {
        to: nothing,
        from: nothing,
        round: m.round(),
        integer: m.take_any(&[
            ("rni", Round::Nearest),
            ("rzi", Round::Zero),
            ("rmi", Round::Down),
            ("rpi", Round::Up),
        ]),
        ftz: m.take("ftz"),
        sat: m.take("sat"),
        relu: m.take("relu"),
        satfinite: m.take("satfinite"),
    };
    // The destination comes first.
    match (take_type(m)?, take_type(m)?) {
        (Type::Tiny(to), Type::Scalar(from)) => {
            let pair = matches!(from, ScalarType::F16x2 | ScalarType::Bf16x2);
            let converted = match from {
                ScalarType::F32 => Converted::Scalar(from, from),
                _ if pair => Converted::Pair(from),
                _ => return Err(Refusal::new("its operands do not fit")),
            };
            several(
                d,
                f,
                Convert { to: Converted::Tiny(to), from: converted, ..convert },
                to.register(),
                from,
            )
        }
        (Type::Scalar(to), Type::Tiny(from)) => {
            let convert = Convert { to: Converted::Pair(to), from: Converted::Tiny(from), ..convert };
            several(d, f, convert, to, from.register())
        }
        (Type::Tiny(_), Type::Tiny(_)) => Err(Refusal::new("one of its types must be of 16 or 32 bits")),
        (Type::Scalar(to @ (ScalarType::F16x2 | ScalarType::Bf16x2)), Type::Scalar(from)) => {
            if from != ScalarType::F32 || convert.sat || convert.ftz {
                return Err(Refusal::new("only `.f32` is converted into pairs"));
            }
            let convert = Convert { to: Converted::Pair(to), from: Converted::Scalar(from, from), ..convert };
            several(d, f, convert, to, from)
        }
        (Type::Scalar(to), Type::Scalar(from)) => scalar(d, f, to, from, convert),
    }
}

/// One value, in registers that may be wider.
fn scalar(
    d: &mut Decoder<'_>,
    f: &Form<'_>,
    to: ScalarType,
    from: ScalarType,
    convert: Convert,
) -> Result<OpKind, Refusal> {
    let [t, a] = f.operands()?;
    let (a, from_register) = d.wide_register(a, from, false)?;
    let (t, to_register) = d.wide_register(t, to, true)?;
    let late = |ty| matches!(ty, ScalarType::Bf16 | ScalarType::Tf32);
    if (late(to) || late(from)) && (from_register.size() != from.size() || to_register.size() != to.size()) {
        return Err(Refusal(format!(
            "a conversion from `{from}` to `{to}` takes registers of just these sizes"
        )));
    }
    if t == NONE {
        return Err(Refusal::new("what it gives goes to a register"));
    }
    let (to, from) = (Converted::Scalar(to, to_register), Converted::Scalar(from, from_register));
    f.arithmetic(Qualifiers::Convert(Convert { to, from, ..convert }), &[t], &[a])
}

/// Two values, in a register each or in one.
fn several(
    d: &mut Decoder<'_>,
    f: &Form<'_>,
    convert: Convert,
    to: ScalarType,
    from: ScalarType,
) -> Result<OpKind, Refusal> {
    let [t, sources @ ..] = f.operands else { return Err(Refusal::new("its operands are missing")) };
    let sources = sources.iter().map(|a| d.source(a, from)).collect::<Result<Vec<_>, _>>()?;
    f.arithmetic(Qualifiers::Convert(convert), &[d.real_target(t, to)?], &sources)
}

/// `cvt.pack.sat.u8.s32.b32 d, a, b, c`.
fn pack(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    f.modifiers.take("sat");
    let to = f.modifiers.take_any(&[
        ("u16", (16, false)),
        ("s16", (16, true)),
        ("u8", (8, false)),
        ("s8", (8, true)),
        ("u4", (4, false)),
        ("s4", (4, true)),
        ("u2", (2, false)),
        ("s2", (2, true)),
    ]);
    let (width, signed) = to.ok_or_else(|| Refusal::new("its destination type is missing"))?;
    let from = f.modifiers.ty()?;
    let packs_more = f.modifiers.take("b32");
    let [t, a, b, rest @ ..] = f.operands else {
        return Err(Refusal::new("it takes three or four operands"));
    };
    if rest.len() != usize::from(packs_more) {
        return Err(Refusal::new("a fourth operand goes with `.b32`"));
    }
    let (a, b) = (d.source(a, from)?, d.source(b, from)?);
    let c = rest.first().unwrap_or(&Operand::Constant(Constant::Integer { bits: 0, unsigned: true }));
    let c = d.source(c, ScalarType::B32)?;
    let t = d.real_target(t, ScalarType::U32)?;
    f.arithmetic(Qualifiers::ConvertPack { width, signed }, &[t], &[a, b, c])
}

/// `cvt.rs.f16x2.f32 d, a, b, bits` and `cvt.rs.satfinite.e4m3x4.f32 d, {a, b, e, f}, bits`.
fn randomly(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let m = &mut f.modifiers;
    let mode =
        Narrow { round: Round::Nearest, relu: m.take("relu"), satfinite: m.take("satfinite"), sat: false };
    let pair = m.take_any(&[("f16x2", Format::F16), ("bf16x2", Format::BF16)]);
    let quad = m.take_any(&[
        ("e4m3x4", Format::E4M3),
        ("e5m2x4", Format::E5M2),
        ("e2m3x4", Format::E2M3),
        ("e3m2x4", Format::E3M2),
        ("e2m1x4", Format::E2M1),
    ]);
    let from = m.ty()?;
    let (format, t, values, random) = match (pair, quad, f.operands) {
        (Some(format), None, [t, values @ .., random]) if values.len() == 2 => (format, t, values, random),
        (None, Some(format), [t, Operand::Vector(values), random]) if values.len() == 4 => {
            (format, t, &values[..], random)
        }
        _ => return Err(Refusal::new("its operands do not fit")),
    };
    let mut sources = values.iter().map(|a| d.source(a, from)).collect::<Result<Vec<_>, _>>()?;
    sources.push(register(d, random)?);
    let to = if format == Format::E2M1 { ScalarType::B16 } else { ScalarType::B32 };
    f.arithmetic(Qualifiers::ConvertRandomly { format, mode }, &[d.real_target(t, to)?], &sources)
}

/// The random bits' register; there is no form with a constant.
fn register(d: &mut Decoder<'_>, operand: &Operand) -> Result<Slot, Refusal> {
    if matches!(operand, Operand::Constant(_)) {
        return Err(Refusal::new("its random bits come from a register"));
    }
    d.source(operand, ScalarType::B32)
}
