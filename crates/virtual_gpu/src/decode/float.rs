//! Arithmetic of `.f32`, `.f64` and `.f32x2`.

use ptx::ScalarType;

use super::Refusal;
use super::arithmetic::unsupported_type;
use super::function::Decoder;
use super::instruction::{Form, arithmetic};
use crate::alu::compare::{Testp, testp_f32, testp_f64};
use crate::alu::float::{self, MinMax, Mode};
use crate::alu::{Round, approx};
use crate::form::lanewise::{Evaluate, each1, each2, each3, map1, map2, map3, test1};
use crate::form::op::OpKind;
use crate::form::registers::Slot;

/// Decodes one.
pub(super) fn decode(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let alu = match f.name {
        "add" | "sub" | "mul" | "fma" | "mad" => sum(d, f)?,
        "min" | "max" => min_max(d, f)?,
        "abs" | "neg" => sign(d, f)?,
        "copysign" => copysign(d, f)?,
        "testp" => testp(d, f)?,
        _ => function(d, f)?,
    };
    arithmetic(f.name, alu)
}

fn sources(d: &mut Decoder<'_>, f: &Form<'_>, ty: ScalarType) -> Result<(Slot, Vec<Slot>), Refusal> {
    let [t, sources @ ..] = f.operands else { return Err(Refusal::new("its operands are missing")) };
    let sources = sources.iter().map(|s| d.source(s, ty)).collect::<Result<_, _>>()?;
    Ok((d.real_target(t, ty)?, sources))
}

fn count<const N: usize>(sources: Vec<Slot>) -> Result<[Slot; N], Refusal> {
    sources
        .try_into()
        .map_err(|s: Vec<Slot>| Refusal(format!("it takes {} operands, not {}", N + 1, s.len() + 1)))
}

/// `$name` over `.f32` with the common modes as functions of their own, so that each vectorises.
macro_rules! with_mode {
    ($map:ident, $each:ident, $op:path, ($t:expr, $($a:ident),*), $mode:expr) => {
        match $mode {
            Mode { round: Round::Nearest, ftz: false, sat: false } => {
                $map($t, $($a,)* |$($a: f32),*| $op($($a,)* Mode::RN))
            }
            Mode { round: Round::Nearest, ftz: true, sat: false } => {
                $map($t, $($a,)* |$($a: f32),*| $op($($a,)* Mode { ftz: true, ..Mode::RN }))
            }
            mode => $each($t, $($a,)* move |$($a: f32),*| $op($($a,)* mode)),
        }
    };
}

fn sum(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<Evaluate, Refusal> {
    let m = &mut f.modifiers;
    let round = m.round();
    let (ftz, sat) = (m.take("ftz"), m.take("sat"));
    let ty = m.ty()?;
    let name = f.name;
    if round == Some(Round::Away) || (matches!(name, "fma") && round.is_none()) {
        return Err(Refusal::new("it needs a rounding: `.rn`, `.rz`, `.rm` or `.rp`"));
    }
    let round = round.unwrap_or_default();
    let mode = Mode { round, ftz, sat };
    let (t, s) = sources(d, f, ty)?;
    match ty {
        ScalarType::F32 => Ok(if matches!(name, "fma" | "mad") {
            let [a, b, c] = count(s)?;
            with_mode!(map3, each3, float::fma_f32, (t, a, b, c), mode)
        } else {
            let [a, b] = count(s)?;
            match name {
                "add" => with_mode!(map2, each2, float::add_f32, (t, a, b), mode),
                "sub" => with_mode!(map2, each2, float::sub_f32, (t, a, b), mode),
                _ => with_mode!(map2, each2, float::mul_f32, (t, a, b), mode),
            }
        }),
        ScalarType::F64 if !ftz && !sat => Ok(if matches!(name, "fma" | "mad") {
            let [a, b, c] = count(s)?;
            match round {
                Round::Nearest => map3(t, a, b, c, |a, b, c| float::fma_f64(a, b, c, Round::Nearest)),
                round => each3(t, a, b, c, move |a, b, c| float::fma_f64(a, b, c, round)),
            }
        } else {
            let [a, b] = count(s)?;
            match (name, round) {
                ("add", Round::Nearest) => map2(t, a, b, |a, b| float::add_f64(a, b, Round::Nearest)),
                ("sub", Round::Nearest) => map2(t, a, b, |a, b| float::sub_f64(a, b, Round::Nearest)),
                (_, Round::Nearest) => map2(t, a, b, |a, b| float::mul_f64(a, b, Round::Nearest)),
                ("add", _) => each2(t, a, b, move |a, b| float::add_f64(a, b, round)),
                ("sub", _) => each2(t, a, b, move |a, b| float::sub_f64(a, b, round)),
                _ => each2(t, a, b, move |a, b| float::mul_f64(a, b, round)),
            }
        }),
        ScalarType::F32x2 if !sat => {
            let pair = |x: u64, i: u32| f32::from_bits((x >> (32 * i)) as u32);
            let join = |low: f32, high: f32| u64::from(high.to_bits()) << 32 | u64::from(low.to_bits());
            if name == "fma" {
                let [a, b, c] = count(s)?;
                return Ok(each3(t, a, b, c, move |a: u64, b: u64, c: u64| {
                    let part = |i| float::fma_f32(pair(a, i), pair(b, i), pair(c, i), mode);
                    join(part(0), part(1))
                }));
            }
            let apply: fn(f32, f32, Mode) -> f32 = match name {
                "add" => float::add_f32,
                "sub" => float::sub_f32,
                "mul" => float::mul_f32,
                _ => return Err(unsupported_type(ty)),
            };
            let [a, b] = count(s)?;
            Ok(each2(t, a, b, move |a: u64, b: u64| {
                let part = |i| apply(pair(a, i), pair(b, i), mode);
                join(part(0), part(1))
            }))
        }
        other => Err(unsupported_type(other)),
    }
}

fn min_max(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<Evaluate, Refusal> {
    let m = &mut f.modifiers;
    let mode = MinMax {
        max: f.name == "max",
        ftz: m.take("ftz"),
        nan: m.take("NaN"),
        xorsign: m.take("xorsign") && m.take("abs"),
    };
    let abs = !mode.xorsign && m.take("abs");
    let ty = m.ty()?;
    let (t, s) = sources(d, f, ty)?;
    match ty {
        ScalarType::F32 if s.len() == 3 && mode.xorsign => Err(Refusal::new("`.xorsign` is for two values")),
        ScalarType::F32 if s.len() == 3 => {
            let [a, b, c] = count(s)?;
            Ok(each3(t, a, b, c, move |a: f32, b: f32, c: f32| {
                let size = |x: f32| if abs { float::abs_f32(x, false) } else { x };
                float::min_max_f32(float::min_max_f32(size(a), size(b), mode), size(c), mode)
            }))
        }
        ScalarType::F32 if !abs => {
            let [a, b] = count(s)?;
            Ok(if mode == (MinMax { max: true, ..MinMax::default() }) {
                map2(t, a, b, |a, b| {
                    float::min_max_f32(a, b, MinMax { max: true, ftz: false, nan: false, xorsign: false })
                })
            } else if mode == MinMax::default() {
                map2(t, a, b, |a, b| {
                    float::min_max_f32(a, b, MinMax { max: false, ftz: false, nan: false, xorsign: false })
                })
            } else {
                each2(t, a, b, move |a: f32, b: f32| float::min_max_f32(a, b, mode))
            })
        }
        ScalarType::F64 if !abs && !mode.nan && !mode.xorsign && !mode.ftz => {
            let [a, b] = count(s)?;
            let max = mode.max;
            Ok(each2(t, a, b, move |a: f64, b: f64| float::min_max_f64(a, b, max)))
        }
        other => Err(unsupported_type(other)),
    }
}

fn sign(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<Evaluate, Refusal> {
    let ftz = f.modifiers.take("ftz");
    let ty = f.modifiers.ty()?;
    let (t, s) = sources(d, f, ty)?;
    let [a] = count(s)?;
    Ok(match (f.name, ty) {
        ("abs", ScalarType::F32) => map1(t, a, move |a| float::abs_f32(a, ftz)),
        ("neg", ScalarType::F32) => map1(t, a, move |a| float::neg_f32(a, ftz)),
        ("abs", ScalarType::F64) if !ftz => map1(t, a, float::abs_f64),
        ("neg", ScalarType::F64) if !ftz => map1(t, a, float::neg_f64),
        (_, other) => return Err(unsupported_type(other)),
    })
}

fn copysign(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<Evaluate, Refusal> {
    let ty = f.modifiers.ty()?;
    let (t, s) = sources(d, f, ty)?;
    let [a, b] = count(s)?;
    Ok(match ty {
        ScalarType::F32 => map2(t, a, b, float::copysign_f32),
        ScalarType::F64 => map2(t, a, b, float::copysign_f64),
        other => return Err(unsupported_type(other)),
    })
}

fn testp(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<Evaluate, Refusal> {
    let question = f.modifiers.take_any(&[
        ("finite", Testp::Finite),
        ("infinite", Testp::Infinite),
        ("number", Testp::Number),
        ("notanumber", Testp::NotANumber),
        ("normal", Testp::Normal),
        ("subnormal", Testp::Subnormal),
    ]);
    let question = question.ok_or_else(|| Refusal::new("it asks nothing"))?;
    let ty = f.modifiers.ty()?;
    let [t, a] = f.operands()?;
    let a = d.source(a, ty)?;
    let t = d.real_target(t, ScalarType::Pred)?;
    Ok(match ty {
        ScalarType::F32 => test1(t, a, move |a| testp_f32(question, a)),
        ScalarType::F64 => test1(t, a, move |a| testp_f64(question, a)),
        other => return Err(unsupported_type(other)),
    })
}

fn function(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<Evaluate, Refusal> {
    let m = &mut f.modifiers;
    let (is_approx, full) = (m.take("approx"), m.take("full"));
    let round = m.round();
    let ftz = m.take("ftz");
    let ty = m.ty()?;
    let name = f.name;
    let (t, s) = sources(d, f, ty)?;
    let mode = Mode { round: round.unwrap_or_default(), ftz, sat: false };
    if !is_approx && !full && round.is_none() {
        return Err(Refusal::new("it needs a rounding or `.approx`"));
    }
    if name == "div" {
        let [a, b] = count(s)?;
        return Ok(match (ty, is_approx, full) {
            (ScalarType::F32, true, _) => each2(t, a, b, move |a, b| approx::div_approx(a, b, ftz)),
            (ScalarType::F32, _, true) => each2(t, a, b, move |a, b| approx::div_full(a, b, ftz)),
            (ScalarType::F32, ..) => each2(t, a, b, move |a, b| float::div_f32(a, b, mode)),
            (ScalarType::F64, false, false) if !ftz => {
                each2(t, a, b, move |a, b| float::div_f64(a, b, mode.round))
            }
            (other, ..) => return Err(unsupported_type(other)),
        });
    }
    let [a] = count(s)?;
    Ok(match (name, ty, is_approx) {
        ("rcp", ScalarType::F32, true) => each1(t, a, move |a| approx::rcp(a, ftz)),
        ("rcp", ScalarType::F32, false) => each1(t, a, move |a| float::rcp_f32(a, mode)),
        ("rcp", ScalarType::F64, true) if ftz => each1(t, a, approx::rcp_f64),
        ("rcp", ScalarType::F64, false) if !ftz => each1(t, a, move |a| float::rcp_f64(a, mode.round)),
        ("sqrt", ScalarType::F32, true) => each1(t, a, move |a| approx::sqrt(a, ftz)),
        ("sqrt", ScalarType::F32, false) => each1(t, a, move |a| float::sqrt_f32(a, mode)),
        ("sqrt", ScalarType::F64, false) if !ftz => each1(t, a, move |a| float::sqrt_f64(a, mode.round)),
        ("rsqrt", ScalarType::F32, true) => each1(t, a, move |a| approx::rsqrt(a, ftz)),
        ("rsqrt", ScalarType::F64, true) if ftz => each1(t, a, approx::rsqrt_f64),
        ("rsqrt", ScalarType::F64, true) => each1(t, a, approx::rsqrt_full_f64),
        ("sin", ScalarType::F32, true) => each1(t, a, move |a| approx::sin(a, ftz)),
        ("cos", ScalarType::F32, true) => each1(t, a, move |a| approx::cos(a, ftz)),
        ("lg2", ScalarType::F32, true) => each1(t, a, move |a| approx::lg2(a, ftz)),
        ("ex2", ScalarType::F32, true) => each1(t, a, move |a| approx::ex2(a, ftz)),
        ("tanh", ScalarType::F32, true) if !ftz => each1(t, a, approx::tanh),
        (_, other, _) => return Err(unsupported_type(other)),
    })
}
