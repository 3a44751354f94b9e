//! `alloca`, `stacksave`, `stackrestore`.

use ptx::{Operand, ScalarType};

use super::Refusal;
use super::function::Decoder;
use super::modifiers::Form;
use crate::form::extension::Stack;
use crate::form::op::OpKind;

/// Alignment of what `alloca` gives when it names none.
const DEFAULT_ALIGN: u32 = 8;

/// Decodes one.
pub(super) fn decode(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let ty = f.modifiers.ty()?;
    let wide = match ty {
        ScalarType::U32 | ScalarType::B32 => false,
        ScalarType::U64 | ScalarType::B64 => true,
        _ => return Err(Refusal::new("addresses are `.u32` or `.u64`")),
    };
    let made = match f.name {
        "alloca" => {
            let (target, bytes, align) = match f.operands {
                [target, bytes] => (target, bytes, DEFAULT_ALIGN),
                [target, bytes, align] => (target, bytes, alignment(align)?),
                _ => return Err(Refusal::new("it takes an address, a size and perhaps an alignment")),
            };
            let bytes = d.source(bytes, ty)?;
            Stack::Take { target: d.real_target(target, ty)?, bytes, align, wide }
        }
        "stacksave" => {
            let [target] = f.operands()?;
            Stack::Save { target: d.real_target(target, ty)?, wide }
        }
        _ => {
            let [source] = f.operands()?;
            Stack::Restore { source: d.source(source, ty)?, wide }
        }
    };
    Ok(OpKind::extension(made))
}

fn alignment(operand: &Operand) -> Result<u32, Refusal> {
    let refuse = || Refusal::new("an alignment is a power of two up to 4096");
    let Operand::Constant(constant) = operand else { return Err(refuse()) };
    let bits = Decoder::bits(*constant, ScalarType::U32)?;
    u32::try_from(bits).ok().filter(|a| a.is_power_of_two() && *a <= 1 << 12).ok_or_else(refuse)
}
