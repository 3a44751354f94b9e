//! The elements of a vector as an operand: `{%f1, %f2}` have one type, of which ptxas makes a register of its own.

use ptx::{Constant, Instruction, Operand, ScalarType};

use super::Refusal;
use super::function::Decoder;

/// The type that an element implies for the others. Untyped registers, `_` and special registers imply none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Integer,
    /// A float, or a pair of them.
    Float(ScalarType),
    /// A constant, which is as wide as what is beside it.
    Real,
}

impl Kind {
    fn goes_with(self, other: Kind) -> bool {
        match (self, other) {
            (Kind::Real, Kind::Float(_)) | (Kind::Float(_), Kind::Real) => true,
            (one, other) => one == other,
        }
    }
}

/// Refuses vectors of elements that do not go together.
pub(super) fn check(d: &mut Decoder<'_>, i: &Instruction) -> Result<(), Refusal> {
    let layered = ["a1d", "a2d", "acube"].into_iter().any(|word| i.opcode.has(word));
    for operand in &i.operands {
        match operand {
            Operand::Vector(parts) => together(d, operand, parts)?,
            Operand::Pair(pair) => {
                if let Operand::Vector(parts) = &pair[0] {
                    together(d, operand, parts)?;
                }
            }
            Operand::Indexed(_, rest) => {
                if let [Operand::Vector(parts)] = &rest[..] {
                    // The layer is a whole number, whatever the coordinates are.
                    together(d, operand, parts.get(usize::from(layered)..).unwrap_or_default())?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn together(d: &mut Decoder<'_>, whole: &Operand, parts: &[Operand]) -> Result<(), Refusal> {
    let mut known: Option<Kind> = None;
    for part in parts {
        let Some(kind) = kind(d, part) else { continue };
        match known {
            Some(first) if !first.goes_with(kind) => {
                return Err(Refusal(format!("`{whole}`: the elements of a vector are of one type")));
            }
            Some(Kind::Real) | None => known = Some(kind),
            Some(_) => {}
        }
    }
    Ok(())
}

fn kind(d: &mut Decoder<'_>, part: &Operand) -> Option<Kind> {
    use ScalarType::{B8, B16, B32, B64, B128, Pred};
    let ty = match part {
        Operand::Constant(Constant::Integer { .. }) => return Some(Kind::Integer),
        Operand::Constant(_) => return Some(Kind::Real),
        Operand::Name(name) | Operand::Component(name, _) => d.vector_register(name).ok()?.1,
        _ => return None,
    };
    match ty {
        B8 | B16 | B32 | B64 | B128 | Pred => None,
        float if float.is_float() => Some(Kind::Float(float)),
        _ => Some(Kind::Integer),
    }
}
