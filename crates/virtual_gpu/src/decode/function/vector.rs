//! Vector registers as operands.

use ptx::{Instruction, Name, Operand};

use super::Decoder;

impl Decoder<'_> {
    /// An instruction whose operands are vector registers, with each of them written as its components in braces: to ptxas
    /// they are the same. `None` if there are none.
    pub fn with_components(&mut self, i: &Instruction) -> Option<Instruction> {
        // A call passes registers, not lists of them.
        if !self.has_vectors || i.opcode.name == "call" {
            return None;
        }
        let changed: Vec<_> = i.operands.iter().map(|operand| self.components(operand)).collect();
        if changed.iter().all(Option::is_none) {
            return None;
        }
        let both = changed.into_iter().zip(&i.operands);
        let operands = both.map(|(changed, operand)| changed.unwrap_or_else(|| operand.clone())).collect();
        Some(Instruction { operands, ..i.clone() })
    }

    fn components(&mut self, operand: &Operand) -> Option<Operand> {
        match operand {
            Operand::Name(name) => {
                let (_, _, count @ 2..) = self.vector_register(name).ok()? else { return None };
                let parts = ["x", "y", "z", "w"].into_iter().take(count.into());
                Some(Operand::Vector(
                    parts.map(|part| Operand::Component(name.clone(), Name::from(part))).collect(),
                ))
            }
            // A vector and a predicate: `v|p`.
            Operand::Pair(pair) => {
                let [first, second] = &**pair;
                Some(Operand::Pair(Box::new([self.components(first)?, second.clone()])))
            }
            // The coordinates of a texture.
            Operand::Indexed(address, rest) => {
                let changed: Vec<_> = rest.iter().map(|operand| self.components(operand)).collect();
                changed.iter().any(Option::is_some).then(|| {
                    let both = changed.into_iter().zip(rest);
                    let rest =
                        both.map(|(changed, operand)| changed.unwrap_or_else(|| operand.clone())).collect();
                    Operand::Indexed(address.clone(), rest)
                })
            }
            _ => None,
        }
    }
}
