//! `cvt` between scalars.

use ptx::ScalarType;

use super::lanewise::{each1, map1};
use super::{Evaluate, Unknown, narrow, rows};
use crate::alu::convert::{self, Narrow};
use crate::alu::exact::Format;
use crate::alu::half;
use crate::alu::{Round, float};
use crate::form::arithmetic::Arithmetic;
use crate::form::qualifiers::{Convert, Converted};

pub(super) fn evaluation(o: &Arithmetic, what: Convert) -> Result<Evaluate, Unknown> {
    use Converted::{Pair, Scalar, Tiny};
    let (to, to_register, from, from_register) = match (what.to, what.from) {
        (Scalar(to, to_register), Scalar(from, from_register)) => (to, to_register, from, from_register),
        (Pair(to), Scalar(..)) => return narrow::to_pair(o, to, what),
        (Tiny(to), Scalar(..)) => return narrow::to_tiny(o, to, None, what),
        (Tiny(to), Pair(from)) => return narrow::to_tiny(o, to, Some(from), what),
        (Pair(to), Tiny(from)) => return narrow::from_tiny(o, to, from, what),
        _ => return Err(Unknown::form()),
    };
    if let Some(common) = common(o, [to, to_register, from, from_register], &what) {
        return Ok(common);
    }
    let convert = scalar(to, from, &what)?;
    let (t, [a]) = (o.target(), o.sources()?);
    Ok(match (rows(to_register), rows(from_register)) {
        (1, 1) => each1(t, a, move |a: u32| convert(a.into()) as u32),
        (1, 2) => each1(t, a, move |a: u64| convert(a) as u32),
        (2, 1) => each1(t, a, move |a: u32| convert(a.into())),
        (2, 2) => each1(t, a, convert),
        _ => return Err(Unknown::new("128-bit registers are not converted")),
    })
}

/// The conversions that loops are full of, in a form that vectorises.
fn common(
    o: &Arithmetic,
    [to, to_register, from, from_register]: [ScalarType; 4],
    m: &Convert,
) -> Option<Evaluate> {
    use ScalarType::*;
    let (t, &[a]) = (o.target(), &o.sources[..]) else { return None };
    if m.ftz || m.sat || m.relu || m.satfinite || rows(from_register) != rows(from) {
        return None;
    }
    let same = rows(to_register) == rows(to);
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
    m: &Convert,
) -> Result<Box<dyn Fn(u64) -> u64 + Send + Sync>, Unknown> {
    use ScalarType::*;
    let Convert { round, integer, ftz, sat, relu, satfinite, .. } = *m;
    let (width, from_width) = (to.size() as u32 * 8, from.size() as u32 * 8);
    let (signed, from_signed) = (to.is_signed(), from.is_signed());
    let nearest = round.unwrap_or_default();
    let narrow = Narrow { round: nearest, relu, satfinite, sat };
    if (relu || satfinite) && !matches!(to, F16 | Bf16 | Tf32 | B32) {
        return Err(Unknown::new("`.relu` and `.satfinite` are for narrow floats"));
    }
    let needs = |is: bool| if is { Ok(()) } else { Err(Unknown::new("it needs a rounding")) };
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
        _ => return Err(Unknown(format!("a conversion from `{from}` to `{to}` is not known"))),
    })
}
