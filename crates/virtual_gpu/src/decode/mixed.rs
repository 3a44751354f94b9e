//! Sums of a 32-bit and a 16-bit float, rounded once to 32 bits: `add.f32.f16`, `fma.rn.f32.bf16`.

use ptx::ScalarType;

use super::Refusal;
use super::arithmetic::unsupported_type;
use super::function::Decoder;
use super::instruction::{Form, arithmetic};
use crate::alu::Round;
use crate::alu::float::{self, Mode};
use crate::alu::half::{Bf16, F16, Half};
use crate::form::lanewise::{Evaluate, each2, each3};
use crate::form::op::OpKind;

/// Decodes one: the instruction names `.f32` and then the narrow type.
pub(super) fn decode(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let m = &mut f.modifiers;
    let round = m.round();
    let mode = Mode { round: round.unwrap_or_default(), ftz: false, sat: m.take("sat") };
    let (_wide, narrow) = (m.ty()?, m.ty()?);
    if round == Some(Round::Away) || (f.name == "fma" && round.is_none()) {
        return Err(Refusal::new("it needs a rounding: `.rn`, `.rz`, `.rm` or `.rp`"));
    }
    arithmetic(
        f.name,
        match narrow {
            ScalarType::F16 => sum::<F16>(d, f, narrow, mode)?,
            ScalarType::Bf16 => sum::<Bf16>(d, f, narrow, mode)?,
            other => return Err(unsupported_type(other)),
        },
    )
}

/// The last source is the wide one.
fn sum<H: Half>(
    d: &mut Decoder<'_>,
    f: &Form<'_>,
    narrow: ScalarType,
    mode: Mode,
) -> Result<Evaluate, Refusal> {
    let wide = ScalarType::F32;
    if f.name == "fma" {
        let [t, a, b, c] = f.operands()?;
        let (a, b, c) = (d.source(a, narrow)?, d.source(b, narrow)?, d.source(c, wide)?);
        let t = d.real_target(t, wide)?;
        return Ok(each3(t, a, b, c, move |a: u16, b: u16, c: f32| {
            float::fma_f32(H::to_f32(a), H::to_f32(b), c, mode)
        }));
    }
    let apply: fn(f32, f32, Mode) -> f32 = match f.name {
        "add" => float::add_f32,
        "sub" => float::sub_f32,
        _ => return Err(Refusal::new("only sums are of two types")),
    };
    let [t, a, c] = f.operands()?;
    let (a, c) = (d.source(a, narrow)?, d.source(c, wide)?);
    let t = d.real_target(t, wide)?;
    Ok(each2(t, a, c, move |a: u16, c: f32| apply(H::to_f32(a), c, mode)))
}
