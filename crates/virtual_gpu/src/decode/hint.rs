//! Instructions that change when things happen and not what: hints to caches, and what counts registers that the virtual
//! GPU does not run short of. What they name is checked as ptxas does.

use ptx::{Constant, Operand, ScalarType};

use super::Refusal;
use super::data;
use super::function::Decoder;
use super::modifiers::Form;
use crate::form::access::SpaceOperand;
use crate::form::op::OpKind;
use crate::form::qualifiers::Qualifiers;
use crate::observer::MemorySpace;

/// Decodes one.
pub(super) fn decode(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    match f.name {
        "createpolicy" => return policy(d, f),
        "prefetch" | "prefetchu" => {
            let [place] = f.operands()?;
            line(d, f, place)?;
        }
        "discard" | "applypriority" => {
            let [place, bytes] = f.operands()?;
            line(d, f, place)?;
            whole_line(bytes)?;
        }
        "pmevent" => {
            let most = if f.modifiers.take("mask") { 0xffff } else { 15 };
            number(f, |event| event <= most, "its operand is one of 16 events, or a mask of them")?;
        }
        "setmaxnreg" => number(
            f,
            |registers| (24..=256).contains(&registers) && registers % 8 == 0,
            "its registers are a multiple of 8 from 24 to 256",
        )?,
        _ => {
            f.operands::<0>()?;
        }
    }
    f.modifiers.take_all();
    Ok(OpKind::Nop)
}

/// The place of a line of the caches.
fn line(d: &mut Decoder<'_>, f: &mut Form<'_>, place: &Operand) -> Result<(), Refusal> {
    if !matches!(place, Operand::Address(_)) {
        return Err(Refusal::new("it takes an address in brackets"));
    }
    let space = data::space(f).unwrap_or(SpaceOperand::Generic);
    match data::place(d, place, space)?.1 {
        SpaceOperand::In(MemorySpace::Shared) => Err(Refusal::new("no cache holds shared memory")),
        _ => Ok(()),
    }
}

/// The one size that there is, of a line.
pub(super) fn whole_line(bytes: &Operand) -> Result<(), Refusal> {
    match bytes {
        Operand::Constant(size) if size.integer() == Some(128) => Ok(()),
        _ => Err(Refusal::new("its size is 128")),
    }
}

/// The one operand, a constant.
fn number(f: &Form<'_>, fits: impl Fn(u64) -> bool, limits: &'static str) -> Result<(), Refusal> {
    match f.operands()? {
        [Operand::Constant(constant)] if constant.integer().is_some_and(&fits) => Ok(()),
        _ => Err(Refusal::new(limits)),
    }
}

/// `createpolicy.fractional policy{, fraction}`, `createpolicy.range policy, [address], primary, total`,
/// `createpolicy.cvt policy, property`
fn policy(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let ranged = f.modifiers.take("range");
    let converted = f.modifiers.take("cvt");
    f.modifiers.take_all();
    let [target, rest @ ..] = f.operands else { return Err(Refusal::new("it gives a policy")) };
    match rest {
        [Operand::Address(address), primary, total] if ranged => {
            d.address(address)?;
            d.number(primary, ScalarType::U32)?;
            d.number(total, ScalarType::U32)?;
            let size = |operand: &Operand| match operand {
                Operand::Constant(constant) => constant.integer(),
                _ => None,
            };
            if size(primary).zip(size(total)).is_some_and(|(primary, total)| primary > total) {
                return Err(Refusal::new("the primary part is not larger than the whole"));
            }
        }
        [property] if converted => {
            d.number(property, ScalarType::B64)?;
        }
        [fraction] if !ranged && !converted => {
            d.number(fraction, ScalarType::F32)?;
            let is_part = |constant: &Constant| {
                let part = f32::from_bits(constant.to_f32_bits());
                part > 0.0 && part <= 1.0
            };
            if matches!(fraction, Operand::Constant(constant) if !is_part(constant)) {
                return Err(Refusal::new("its fraction is above 0 and at most 1"));
            }
        }
        [] if !ranged && !converted => {}
        _ => return Err(Refusal::new("its operands do not fit")),
    }
    let zero = d.constant(0, 2)?;
    if *target == Operand::Sink {
        return Err(Refusal::new("it gives a policy"));
    }
    let target = d.target(target, ScalarType::B64)?;
    f.arithmetic(Qualifiers::Type(ScalarType::B64), &[target], &[zero])
}
