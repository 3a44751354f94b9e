//! Operands that are sums and elements: `a+1` of a register, `array[i]` of a variable.

use std::sync::Arc;

use ptx::{Address, Constant, Instruction, Name, Opcode, Operand, ScalarType, Variable};

use super::{Decoder, Symbol, rows_of};
use crate::decode::{Refusal, special};

/// Bytes from one element of an array to the next; `None` if it is no array. ptxas counts in single values, whatever
/// vectors and further dimensions the array has.
pub(in crate::decode) fn element(variable: &Variable) -> Option<u32> {
    (!variable.dims.is_empty()).then(|| variable.ty.size() as u32)
}

impl Decoder<'_> {
    /// An instruction with such operands, where each is a register that instructions before it fill, as ptxas does it. `None`
    /// if there are none.
    pub fn with_sums(&mut self, i: &Instruction) -> Result<Option<Instruction>, Refusal> {
        if !i.operands.iter().any(|operand| matches!(operand, Operand::Symbol(_) | Operand::Element(..))) {
            return Ok(None);
        }
        let mut operands = i.operands.clone();
        for operand in &mut operands {
            match operand {
                Operand::Symbol(sum) if !sum.generic => {
                    let Some(name) = self.sum(i, &sum.name, sum.offset)? else { continue };
                    *operand = Operand::Name(name);
                }
                Operand::Element(array, index) => {
                    let array = array.clone();
                    let size =
                        self.element(&array).ok_or_else(|| Refusal(format!("`{array}` is no array")))?;
                    *operand = match &index.base {
                        Some(base) => {
                            let name = self.place_of(i, &array, size, &base.clone(), index.offset)?;
                            Operand::Element(array, Address { base: Some(name), offset: 0 })
                        }
                        None => {
                            let offset = index.offset.wrapping_mul(size.into());
                            Operand::Element(array, Address { base: None, offset })
                        }
                    };
                }
                _ => {}
            }
        }
        Ok(Some(Instruction { operands, ..i.clone() }))
    }

    /// Refuses a sum as what an instruction writes.
    pub fn keeps_sums(&self, text: &Instruction, i: &Instruction) -> Result<(), Refusal> {
        for (operand, register) in text.operands.iter().zip(&i.operands) {
            let (Operand::Symbol(_), Operand::Name(name)) = (operand, register) else { continue };
            let slot = self.scopes.last().and_then(|scope| scope.slots.get(name));
            if self.writes.iter().any(|(written, _)| Some(written) == slot) {
                return Err(Refusal(format!("`{operand}` cannot be a destination")));
            }
        }
        Ok(())
    }

    /// The register that holds a register and a number; `None` if the name is no register's.
    fn sum(&mut self, i: &Instruction, name: &Name, offset: i64) -> Result<Option<Name>, Refusal> {
        let ty = if self.is_register(name) {
            self.register(name)?.1
        } else if special::fixed(name, Some("x")).is_some() {
            return Err(Refusal(format!("`{name}` is a vector, and sums are of one number")));
        } else {
            let fixed = special::fixed(name, None).map(|(_, rows)| rows);
            match fixed.or(special::changing(name).map(|(_, rows)| rows)) {
                Some(1) => ScalarType::U32,
                Some(2) => ScalarType::U64,
                _ => return Ok(None),
            }
        };
        if ty == ScalarType::Pred || ty.is_float() || !matches!(ty.size(), 2 | 4 | 8) {
            return Err(Refusal(format!("`{name}` is `{ty}`, and sums are of whole numbers")));
        }
        let sum = self.filled(format!("{name}+{offset}"), ty);
        let (bits, number) =
            (ty.size() * 8, Operand::Constant(Constant::Integer { bits: offset as u64, unsigned: false }));
        let to = || Operand::Name(sum.clone());
        self.before(i, &format!("mov.b{bits}"), [to(), Operand::Name(name.clone())])?;
        self.before(i, &format!("add.u{bits}"), [to(), to(), number])?;
        Ok(Some(sum))
    }

    /// The register that holds the address of an element by a register.
    fn place_of(
        &mut self,
        i: &Instruction,
        array: &Name,
        size: u32,
        index: &Name,
        offset: i64,
    ) -> Result<Name, Refusal> {
        let index = match (offset, self.sum(i, index, offset)?) {
            (_, Some(index)) => index,
            _ => return Err(Refusal(format!("`{index}` is no register, which an index is"))),
        };
        let from = self.register(&index)?.1;
        let from = match (from.size() * 8, from.is_signed()) {
            (bits, true) => format!("s{bits}"),
            (bits, false) => format!("u{bits}"),
        };
        let narrow = i.opcode.name == "mov"
            && i.opcode
                .modifiers
                .iter()
                .filter_map(|word| ScalarType::from_word(word))
                .all(|ty| rows_of(ty) == 1);
        let bits = if narrow { 32 } else { 64 };
        let distance = self.filled(format!("{array}[{index}] - {array}"), ScalarType::U32);
        let place = self.filled(
            format!("{array}[{index}].{bits}"),
            if narrow { ScalarType::U32 } else { ScalarType::U64 },
        );
        let name = |name: &Name| Operand::Name(name.clone());
        let size = Operand::Constant(Constant::Integer { bits: size.into(), unsigned: false });
        self.before(i, &format!("cvt.u32.{from}"), [name(&distance), name(&index)])?;
        self.before(i, "mul.lo.u32", [name(&distance), name(&distance), size])?;
        self.before(i, &format!("mov.u{bits}"), [name(&place), name(array)])?;
        if narrow {
            self.before(i, "add.u32", [name(&place), name(&place), name(&distance)])?;
        } else {
            let far = self.filled(format!("{array}[{index}] - {array}.64"), ScalarType::U64);
            self.before(i, "cvt.u64.u32", [name(&far), name(&distance)])?;
            self.before(i, "add.u64", [name(&place), name(&place), name(&far)])?;
        }
        Ok(place)
    }

    /// A register of our own, by a name that no text can have, which what stands before an instruction fills.
    fn filled(&mut self, name: String, ty: ScalarType) -> Name {
        let name = Name::from(name.as_str());
        if let Some(scope) = self.scopes.last_mut() {
            scope.names.insert(name.clone(), Symbol::Register { ty, vector: 1, count: None });
        }
        name
    }

    fn before<const N: usize>(
        &mut self,
        i: &Instruction,
        opcode: &str,
        operands: [Operand; N],
    ) -> Result<(), Refusal> {
        let mut words = opcode.split('.').map(Name::from);
        let name = words.next().unwrap_or_else(|| Name::from(opcode));
        let opcode = Arc::new(Opcode { name, modifiers: words.collect() });
        self.instruction(&Instruction { guard: None, opcode, operands: Box::new(operands), ..i.clone() })
    }
}
