//! `cvt`.

use ptx::{Operand, ScalarType};

use super::Refusal;
use super::function::{Decoder, rows_of};
use super::instruction::{Form, arithmetic};
use super::modifiers::Modifiers;
use crate::alu::convert::{self, Narrow};
use crate::alu::exact::Format;
use crate::alu::half;
use crate::alu::{Round, float};
use crate::form::lanewise::{Evaluate, each1, each2, each3, map1};
use crate::form::op::OpKind;
use crate::form::registers::Slot;

mod random;
mod tiny;

use tiny::Tiny;

struct Modes {
    round: Option<Round>,
    /// `.rni` and its likes.
    integer: Option<Round>,
    ftz: bool,
    sat: bool,
    relu: bool,
    satfinite: bool,
}

/// What `cvt` converts from or to.
enum Type {
    Register(ScalarType),
    /// Two of a format of eight bits or fewer.
    Tiny(Tiny),
}

/// Takes the first type or tiny format.
fn narrow_or_type(m: &mut Modifiers<'_>) -> Result<Type, Refusal> {
    m.take_map(|word| {
        let tiny = Tiny::from_word(word).map(Type::Tiny);
        tiny.or_else(|| ScalarType::from_word(word).map(Type::Register))
    })
    .ok_or_else(|| Refusal::new("it names no type"))
}

/// Decodes one.
pub(super) fn decode(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let m = &mut f.modifiers;
    if m.take("pack") {
        return pack(d, f).and_then(|evaluate| arithmetic(f.name, evaluate));
    }
    if m.take("rs") {
        return random::decode(d, f).and_then(|evaluate| arithmetic(f.name, evaluate));
    }
    let modes = Modes {
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
    let (to, from) = (narrow_or_type(m)?, narrow_or_type(m)?);
    let (to, from) = match (to, from) {
        (Type::Tiny(format), Type::Register(from)) => {
            return tiny::narrow(d, f, from, format, &modes)
                .and_then(|evaluate| arithmetic(f.name, evaluate));
        }
        (Type::Register(to), Type::Tiny(format)) => {
            return tiny::widen(d, f, to, format, &modes).and_then(|evaluate| arithmetic(f.name, evaluate));
        }
        (Type::Register(to), Type::Register(from)) => (to, from),
        (Type::Tiny(_), Type::Tiny(_)) => {
            return Err(Refusal::new("one of its types must be of 16 or 32 bits"));
        }
    };
    if matches!(to, ScalarType::F16x2 | ScalarType::Bf16x2) {
        return packed(d, f, to, from, &modes).and_then(|evaluate| arithmetic(f.name, evaluate));
    }
    let [t, a] = f.operands()?;
    let (a, from_register) = d.wide_register(a, from, false)?;
    let (t, to_register) = d.wide_register(t, to, true)?;
    let late = |ty| matches!(ty, ScalarType::Bf16 | ScalarType::Tf32);
    if (late(to) || late(from)) && (from_register.size() != from.size() || to_register.size() != to.size()) {
        return Err(Refusal(format!(
            "a conversion from `{from}` to `{to}` takes registers of just these sizes"
        )));
    }
    let t = if t == crate::form::registers::NONE { d.scratch(rows_of(to))? } else { t };
    if let Some(alu) = common(t, a, to, from, to_register, from_register, &modes) {
        return arithmetic(f.name, alu);
    }
    let convert = scalar(to, from, &modes)?;
    arithmetic(
        f.name,
        match (rows_of(to_register), rows_of(from_register)) {
            (1, 1) => each1(t, a, move |a: u32| convert(a.into()) as u32),
            (1, 2) => each1(t, a, move |a: u64| convert(a) as u32),
            (2, 1) => each1(t, a, move |a: u32| convert(a.into())),
            (2, 2) => each1(t, a, convert),
            _ => return Err(Refusal::new("128-bit registers are not converted")),
        },
    )
}

/// The conversions that loops are full of, in a form that vectorises.
fn common(
    t: Slot,
    a: Slot,
    to: ScalarType,
    from: ScalarType,
    to_register: ScalarType,
    from_register: ScalarType,
    m: &Modes,
) -> Option<Evaluate> {
    use ScalarType::*;
    if m.ftz || m.sat || m.relu || m.satfinite || rows_of(from_register) != rows_of(from) {
        return None;
    }
    let same = rows_of(to_register) == rows_of(to);
    let nearest = m.round == Some(Round::Nearest);
    Some(match (to, from) {
        (U64 | S64, U32) if same => map1(t, a, |a: u32| u64::from(a)),
        (U64 | S64, S32) if same => map1(t, a, |a: i32| i64::from(a)),
        (U32 | S32, U64 | S64) if same => map1(t, a, |a: u64| a as u32),
        (U32 | S32, U16) if same => map1(t, a, |a: u16| u32::from(a)),
        (U32 | S32, S16) if same => map1(t, a, |a: i16| i32::from(a)),
        (U16 | S16, U32 | S32) if same && to_register.size() == 2 => map1(t, a, |a: u32| a as u16),
        (F32, S32) if nearest => map1(t, a, |a: i32| a as f32),
        (F32, U32) if nearest => map1(t, a, |a: u32| a as f32),
        (F64, S32) if nearest => map1(t, a, |a: i32| f64::from(a)),
        (F64, U32) if nearest => map1(t, a, |a: u32| f64::from(a)),
        (F32, F16) => map1(t, a, |a: u16| convert::half_to_f32::<half::F16>(a, false, false)),
        (F32, Bf16) => map1(t, a, |a: u16| convert::half_to_f32::<half::Bf16>(a, false, false)),
        (S32, F32) if m.integer == Some(Round::Zero) => map1(t, a, |a: f32| a as i32),
        (U32, F32) if m.integer == Some(Round::Zero) => map1(t, a, |a: f32| a as u32),
        (F64, F32) => map1(t, a, |a: f32| convert::f32_to_f64(a, false, false)),
        (F32, F64) if nearest => map1(t, a, |a: f64| convert::f64_to_f32(a, Round::Nearest, false, false)),
        _ => return None,
    })
}

fn is_int(ty: ScalarType) -> bool {
    use ScalarType::*;
    matches!(ty, U8 | U16 | U32 | U64 | S8 | S16 | S32 | S64)
}

fn format_of(ty: ScalarType) -> Format {
    if ty == ScalarType::Bf16 { Format::BF16 } else { Format::F16 }
}

/// Any conversion between scalars, from the source's bits to the destination's, extended to 64 bits.
fn scalar(
    to: ScalarType,
    from: ScalarType,
    m: &Modes,
) -> Result<Box<dyn Fn(u64) -> u64 + Send + Sync>, Refusal> {
    use ScalarType::*;
    let Modes { round, integer, ftz, sat, relu, satfinite } = *m;
    let (width, from_width) = (to.size() as u32 * 8, from.size() as u32 * 8);
    let (signed, from_signed) = (to.is_signed(), from.is_signed());
    let nearest = round.unwrap_or_default();
    let narrow = Narrow { round: nearest, relu, satfinite, sat };
    if (relu || satfinite) && !matches!(to, F16 | Bf16 | Tf32 | B32) {
        return Err(Refusal::new("`.relu` and `.satfinite` are for narrow floats"));
    }
    let needs = |is: bool| if is { Ok(()) } else { Err(Refusal::new("it needs a rounding")) };
    Ok(match (to, from) {
        (to, from) if is_int(to) && is_int(from) => {
            if sat {
                Box::new(move |a| {
                    let a = convert::extend(a, from_width, from_signed);
                    let a = if from_signed { i128::from(a as i64) } else { i128::from(a) };
                    convert::saturate_int(a, width, signed)
                })
            } else {
                Box::new(move |a| convert::extend(convert::extend(a, from_width, from_signed), width, signed))
            }
        }
        (to, F32 | F64 | F16 | Bf16) if is_int(to) => {
            let round = integer.or(round);
            needs(round.is_some())?;
            let round = round.unwrap_or_default();
            Box::new(move |a| {
                let value = match from {
                    F32 => f64::from(float::flush_f32(f32::from_bits(a as u32), ftz)),
                    F64 => f64::from_bits(a),
                    F16 => half::to_f64::<half::F16>(a as u16),
                    _ => half::to_f64::<half::Bf16>(a as u16),
                };
                convert::float_to_int(value, from == F64, round, width, signed)
            })
        }
        (F32 | F64 | F16 | Bf16, from) if is_int(from) => {
            needs(round.is_some())?;
            Box::new(move |a| {
                let a = convert::extend(a, from_width, from_signed);
                match to {
                    F32 => {
                        let r = convert::int_to_f32(a, from_signed, nearest);
                        (if sat { float::saturate_f32(r) } else { r }).to_bits().into()
                    }
                    F64 => {
                        let r = convert::int_to_f64(a, from_signed, nearest);
                        (if sat { float::saturate_f64(r) } else { r }).to_bits()
                    }
                    to => {
                        let bits = convert::int_to_half(a, from_signed, format_of(to), nearest);
                        if sat {
                            let value = convert::half_to_f64(bits, to == Bf16);
                            convert::to_narrow(value, format_of(to), Narrow { sat, ..Narrow::default() })
                                .into()
                        } else {
                            bits.into()
                        }
                    }
                }
            })
        }
        (F32, F32) => {
            let integer = integer.or(round);
            Box::new(move |a| {
                convert::f32_to_f32(f32::from_bits(a as u32), integer, ftz, sat).to_bits().into()
            })
        }
        (F64, F64) => {
            let integer = integer.or(round);
            Box::new(move |a| convert::f64_to_f64(f64::from_bits(a), integer, sat).to_bits())
        }
        (F64, F32) => Box::new(move |a| convert::f32_to_f64(f32::from_bits(a as u32), ftz, sat).to_bits()),
        (F32, F64) => {
            needs(round.is_some())?;
            Box::new(move |a| convert::f64_to_f32(f64::from_bits(a), nearest, ftz, sat).to_bits().into())
        }
        (F32, F16) => {
            Box::new(move |a| convert::half_to_f32::<half::F16>(a as u16, ftz, sat).to_bits().into())
        }
        (F32, Bf16) => {
            Box::new(move |a| convert::half_to_f32::<half::Bf16>(a as u16, ftz, sat).to_bits().into())
        }
        (F64, F16 | Bf16) => Box::new(move |a| {
            let value = convert::half_to_f64(a as u16, from == Bf16);
            convert::f64_to_f64(value, None, sat).to_bits()
        }),
        (F16 | Bf16, F32 | F64 | F16 | Bf16) => {
            needs(to == from || round.is_some() || integer.is_some() || from.size() == 2)?;
            Box::new(move |a| {
                let value = match from {
                    // `.ftz` changes nothing: the hardware rounds a subnormal as any other number.
                    F32 => f64::from(f32::from_bits(a as u32)),
                    F64 => return convert::f64_to_half(f64::from_bits(a), format_of(to), narrow).into(),
                    from => convert::half_to_f64(a as u16, from == Bf16),
                };
                let value = integer.map_or(value, |r| convert::round_to_int(value, r));
                convert::to_narrow(value, format_of(to), narrow).into()
            })
        }
        (Tf32, F32) => {
            needs(round.is_some())?;
            Box::new(move |a| convert::f32_to_tf32(f32::from_bits(a as u32), narrow).into())
        }
        _ => return Err(Refusal(format!("a conversion from `{from}` to `{to}` is not known"))),
    })
}

/// `cvt.rn.f16x2.f32 d, a, b`: `a` goes into the high half.
fn packed(
    d: &mut Decoder<'_>,
    f: &Form<'_>,
    to: ScalarType,
    from: ScalarType,
    m: &Modes,
) -> Result<Evaluate, Refusal> {
    let format = if to == ScalarType::Bf16x2 { Format::BF16 } else { Format::F16 };
    let narrow = Narrow {
        round: m.round.ok_or_else(|| Refusal::new("it needs a rounding"))?,
        relu: m.relu,
        satfinite: m.satfinite,
        sat: false,
    };
    if from != ScalarType::F32 || m.sat || m.ftz {
        return Err(Refusal::new("only `.f32` is converted into pairs"));
    }
    let [t, a, b] = f.operands()?;
    let (a, b) = (d.source(a, from)?, d.source(b, from)?);
    let t = d.real_target(t, to)?;
    Ok(each2(t, a, b, move |a: f32, b: f32| {
        let high = convert::to_narrow(a.into(), format, narrow);
        let low = convert::to_narrow(b.into(), format, narrow);
        u32::from(high) << 16 | u32::from(low)
    }))
}

/// `cvt.pack.sat.u8.s32.b32 d, a, b, c`.
fn pack(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<Evaluate, Refusal> {
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
    f.modifiers.take("b32");
    let [t, a, b, rest @ ..] = f.operands else {
        return Err(Refusal::new("it takes three or four operands"));
    };
    let (a, b) = (d.source(a, from)?, d.source(b, from)?);
    let c: &Operand =
        rest.first().unwrap_or(&Operand::Constant(ptx::Constant::Integer { bits: 0, unsigned: true }));
    let c = d.source(c, ScalarType::B32)?;
    let t = d.real_target(t, ScalarType::B32)?;
    Ok(each3(t, a, b, c, move |a, b, c| convert::pack(a, b, c, width, signed)))
}
