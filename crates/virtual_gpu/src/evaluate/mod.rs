//! Arithmetic operations as functions over a frame's rows, found from opcode and qualifiers alone.
//!
//! Found once, when a program is loaded. One file a kind: each matches what the operation says and gives a function of
//! [`crate::alu`], made into one over lanes by [`lanewise`].

mod bits;
mod compare;
mod convert;
mod float;
mod half;
mod integer;
mod lanewise;
mod moves;
mod narrow;
mod video;

use std::fmt;

use ptx::ScalarType;

use crate::form::arithmetic::Arithmetic;
use crate::form::qualifiers::Qualifiers;
use crate::form::registers::{Regs, Slot};

/// Evaluates an operation in the lanes of a mask.
pub(crate) type Evaluate = Box<dyn Fn(Regs, u32) + Send + Sync>;

/// The evaluations of a program, by program counter; `None` of what is not arithmetic.
#[derive(Default)]
pub(crate) struct Evaluations(pub Vec<Option<Evaluate>>);

impl fmt::Debug for Evaluations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Evaluations({})", self.0.len())
    }
}

/// Why an operation has no evaluation.
#[derive(Debug)]
pub(crate) struct Unknown(pub String);

impl Unknown {
    fn new(reason: &str) -> Self {
        Unknown(reason.to_owned())
    }

    fn form() -> Self {
        Unknown::new("this form does not exist")
    }

    fn ty(ty: ScalarType) -> Self {
        Unknown(format!("the type `{ty}` is not possible here"))
    }
}

/// The function that computes an operation.
pub(crate) fn evaluation(operation: &Arithmetic) -> Result<Evaluate, Unknown> {
    use Qualifiers::*;
    match operation.qualifiers {
        Type(ty) => bits::evaluation(operation, ty),
        Predicates { .. }
        | FindBit { .. }
        | Amount { .. }
        | FunnelShift { .. }
        | Permute(_)
        | Table { .. } => bits::qualified(operation),
        Integer { .. } | Carry { .. } | DotProduct { .. } => integer::evaluation(operation),
        Float { .. } | Extremum { .. } | Property { .. } => float::evaluation(operation),
        Half { .. } | Mixed { .. } => half::evaluation(operation),
        Compare(what) => compare::evaluation(operation, what),
        BySign { ty, by, ftz } => compare::by_sign(operation, ty, by, ftz),
        Convert(what) => convert::evaluation(operation, what),
        ConvertPack { .. } | ConvertRandomly { .. } => narrow::evaluation(operation),
        Address { .. } | IsSpace { .. } | MapAddress { .. } => moves::address(operation),
        Video(_) | VideoMad { .. } | VideoPacked(_) => video::evaluation(operation),
    }
}

impl Arithmetic {
    /// Its one target.
    fn target(&self) -> Slot {
        self.targets[0]
    }

    /// A number of sources.
    fn sources<const N: usize>(&self) -> Result<[Slot; N], Unknown> {
        self.sources[..]
            .try_into()
            .map_err(|_| Unknown(format!("it takes {} operands, not {}", N + 1, self.sources.len() + 1)))
    }
}

/// Rows of a register of that type; none of a predicate.
fn rows(ty: ScalarType) -> u32 {
    match ty {
        ScalarType::Pred => 0,
        _ => (ty.size() as u32 / 4).max(1),
    }
}

/// All ones for a negated predicate.
fn flip(inverted: bool) -> u32 {
    if inverted { u32::MAX } else { 0 }
}

/// Runs `$e` with `$T` as the Rust type of an integer type.
macro_rules! by_int {
    ($ty:expr, $T:ident => $e:expr) => {{
        use ptx::ScalarType::*;
        match $ty {
            U16 | B16 => {
                type $T = u16;
                $e
            }
            S16 => {
                type $T = i16;
                $e
            }
            U32 | B32 => {
                type $T = u32;
                $e
            }
            S32 => {
                type $T = i32;
                $e
            }
            U64 | B64 => {
                type $T = u64;
                $e
            }
            S64 => {
                type $T = i64;
                $e
            }
            other => return Err($crate::evaluate::Unknown::ty(other)),
        }
    }};
}
use by_int;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alu::Round;
    use crate::alu::float::Mode;
    use crate::form::arithmetic::Opcode;
    use crate::form::qualifiers::Accuracy;
    use crate::form::registers::Row;

    /// The first lane's result of an operation on the first two rows.
    fn first(opcode: Opcode, qualifiers: Qualifiers, a: u32, b: u32) -> Result<u32, Unknown> {
        let mut rows = [Row([a; 32]), Row([b; 32]), Row::ZERO];
        // SAFETY: three rows, slots 0 to 2.
        let regs = unsafe { Regs::new(rows.as_mut_ptr()) };
        let operation = Arithmetic { opcode, qualifiers, targets: [2].into(), sources: [0, 1].into() };
        evaluation(&operation)?(regs, 1);
        Ok(rows[2].0[0])
    }

    #[test]
    fn opcode_and_qualifiers_say_what_is_computed() {
        let integer = |ty, saturate| Qualifiers::Integer { ty, half: None, saturate, relu: false };
        let float = |round| Qualifiers::Float {
            ty: ScalarType::F32,
            mode: Mode { round, ..Mode::RN },
            accuracy: Accuracy::Rounded,
        };
        let (most, third) = (i32::MAX as u32, 1.0f32 / 3.0);
        for (opcode, qualifiers, a, b, expected) in [
            (Opcode::Add, integer(ScalarType::S32, false), most, 1, 0x8000_0000),
            (Opcode::Add, integer(ScalarType::S32, true), most, 1, most),
            (Opcode::Add, integer(ScalarType::S16x2, true), 0x7fff_8000, 0x0001_ffff, 0x7fff_8000),
            (Opcode::Add, integer(ScalarType::U16x2, true), 0xffff_0001, 0x0001_0001, 0xffff_0002),
            (Opcode::Div, integer(ScalarType::S32, false), -7i32 as u32, 2, -3i32 as u32),
            (Opcode::Div, integer(ScalarType::U32, false), -7i32 as u32, 2, 0x7fff_fffc),
            (Opcode::ShiftRight, Qualifiers::Type(ScalarType::S32), 0x8000_0000, 31, u32::MAX),
            (Opcode::ShiftRight, Qualifiers::Type(ScalarType::U32), 0x8000_0000, 31, 1),
            (Opcode::Div, float(Round::Nearest), 1f32.to_bits(), 3f32.to_bits(), third.to_bits()),
            // A third lies below the nearest float.
            (Opcode::Div, float(Round::Down), 1f32.to_bits(), 3f32.to_bits(), third.to_bits() - 1),
        ] {
            let found = first(opcode, qualifiers, a, b).unwrap();
            assert_eq!(found, expected, "{opcode:?} {qualifiers:?}: {found:#x}");
        }
    }

    #[test]
    fn what_does_not_exist_is_not_evaluated() {
        let error = first(Opcode::And, Qualifiers::Type(ScalarType::F32), 1, 1).unwrap_err();
        assert_eq!(error.0, "the type `.f32` is not possible here");
        let error = first(Opcode::BitReverse, Qualifiers::Type(ScalarType::B32), 1, 1).unwrap_err();
        assert_eq!(error.0, "it does not take that many operands");
    }
}
