//! Arithmetic of the 16-bit floats, scalar and packed, and sums of a 32-bit and a 16-bit float, rounded once to 32 bits:
//! `add.f32.f16`, `fma.rn.f32.bf16`.

use super::Refusal;
use super::arithmetic::uniform;
use super::function::Decoder;
use super::modifiers::Form;
use crate::alu::Round;
use crate::alu::float::{self, MinMax};
use crate::alu::half::Mode;
use crate::form::op::OpKind;
use crate::form::qualifiers::Qualifiers;

/// Decodes one.
pub(super) fn decode(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let m = &mut f.modifiers;
    m.take("approx");
    if !matches!(m.round(), None | Some(Round::Nearest)) {
        return Err(Refusal::new("16-bit floats round to nearest only"));
    }
    let mode = Mode { ftz: m.take("ftz"), sat: m.take("sat"), relu: m.take("relu") };
    // The out-of-bounds NaN of tensor copies.
    let oob = f.name == "fma" && m.take("oob");
    let ends = MinMax {
        max: f.name == "max",
        ftz: mode.ftz,
        nan: m.take("NaN"),
        xorsign: m.take("xorsign") && m.take("abs"),
    };
    let ty = m.ty()?;
    uniform(d, f, Qualifiers::Half { ty, mode, ends, oob }, ty)
}

/// Decodes one that names `.f32` and then the narrow type. The last source is the wide one.
pub(super) fn mixed(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let m = &mut f.modifiers;
    let round = m.round();
    let mode = float::Mode { round: round.unwrap_or_default(), ftz: false, sat: m.take("sat") };
    let (wide, narrow) = (m.ty()?, m.ty()?);
    if round == Some(Round::Away) || (f.name == "fma" && round.is_none()) {
        return Err(Refusal::new("it needs a rounding: `.rn`, `.rz`, `.rm` or `.rp`"));
    }
    let [t, factors @ .., last] = f.operands else { return Err(Refusal::new("its operands are missing")) };
    let mut sources = factors.iter().map(|a| d.source(a, narrow)).collect::<Result<Vec<_>, _>>()?;
    sources.push(d.source(last, wide)?);
    f.arithmetic(Qualifiers::Mixed { narrow, mode }, &[d.real_target(t, wide)?], &sources)
}
