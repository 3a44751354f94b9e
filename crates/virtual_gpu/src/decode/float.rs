//! Arithmetic of `.f32`, `.f64` and `.f32x2`.

use ptx::ScalarType;

use super::Refusal;
use super::arithmetic::uniform;
use super::function::Decoder;
use super::modifiers::Form;
use crate::alu::Round;
use crate::alu::compare::Testp;
use crate::alu::float::{MinMax, Mode};
use crate::form::op::OpKind;
use crate::form::qualifiers::{Accuracy, Qualifiers};

/// Decodes one.
pub(super) fn decode(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    match f.name {
        "add" | "sub" | "mul" | "fma" | "mad" => sum(d, f),
        "min" | "max" => extremum(d, f),
        "abs" | "neg" => {
            let mode = Mode { ftz: f.modifiers.take("ftz"), ..Mode::RN };
            let ty = f.modifiers.ty()?;
            uniform(d, f, Qualifiers::Float { ty, mode, accuracy: Accuracy::Rounded }, ty)
        }
        "copysign" => {
            let ty = f.modifiers.ty()?;
            uniform(d, f, Qualifiers::Type(ty), ty)
        }
        "testp" => testp(d, f),
        _ => function(d, f),
    }
}

fn sum(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let m = &mut f.modifiers;
    let round = m.round();
    let (ftz, sat) = (m.take("ftz"), m.take("sat"));
    let ty = m.ty()?;
    if round == Some(Round::Away) || (f.name == "fma" && round.is_none()) {
        return Err(Refusal::new("it needs a rounding: `.rn`, `.rz`, `.rm` or `.rp`"));
    }
    let mode = Mode { round: round.unwrap_or_default(), ftz, sat };
    uniform(d, f, Qualifiers::Float { ty, mode, accuracy: Accuracy::Rounded }, ty)
}

fn extremum(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let m = &mut f.modifiers;
    let ends = MinMax {
        max: f.name == "max",
        ftz: m.take("ftz"),
        nan: m.take("NaN"),
        xorsign: m.take("xorsign") && m.take("abs"),
    };
    let abs = !ends.xorsign && m.take("abs");
    let ty = m.ty()?;
    uniform(d, f, Qualifiers::Extremum { ty, ends, abs }, ty)
}

fn testp(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
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
    f.arithmetic(Qualifiers::Property { ty, question }, &[d.real_target(t, ScalarType::Pred)?], &[a])
}

fn function(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let m = &mut f.modifiers;
    let (approx, full) = (m.take("approx"), m.take("full"));
    let round = m.round();
    let mode = Mode { round: round.unwrap_or_default(), ftz: m.take("ftz"), sat: false };
    let ty = m.ty()?;
    let accuracy = match (approx, full, round) {
        (true, ..) => Accuracy::Approximate,
        (_, true, _) => Accuracy::Full,
        (_, _, Some(_)) => Accuracy::Rounded,
        _ => return Err(Refusal::new("it needs a rounding or `.approx`")),
    };
    uniform(d, f, Qualifiers::Float { ty, mode, accuracy }, ty)
}
