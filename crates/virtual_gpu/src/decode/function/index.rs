//! Operands that are sums and elements: `a+1` of a register, `array[i]` of a variable.

use std::sync::Arc;

use ptx::{Address, Constant, Instruction, Name, Opcode, Operand, ScalarType, Variable};

use super::{Decoder, Symbol, rows_of, same_kind};
use crate::decode::{Refusal, special};

/// Bytes from one element of an array to the next; `None` if it is no array. ptxas counts in single values, whatever
/// vectors and further dimensions the array has.
pub(in crate::decode) fn element(variable: &Variable) -> Option<u32> {
    (!variable.dims.is_empty()).then(|| variable.ty.size() as u32)
}

/// Which registers' sums an operand takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// Those of its size: what is an amount, a count or a mask whatever the instruction's type.
    Exact,
    /// All, as they are where they are wider.
    Wider,
    /// All, cut off where they are wider.
    Any,
}

impl Decoder<'_> {
    /// An instruction with elements of arrays as operands, where each that is chosen by a register is a register that
    /// instructions before it fill, as ptxas does it. `None` if there are none.
    pub fn with_elements(&mut self, i: &Instruction) -> Result<Option<Instruction>, Refusal> {
        if !i.operands.iter().any(|operand| matches!(operand, Operand::Element(..))) {
            return Ok(None);
        }
        (self.position, self.loc) = (i.position, i.loc);
        let mut operands = i.operands.clone();
        for operand in &mut operands {
            let Operand::Element(array, index) = operand else { continue };
            let size = self.element(array).ok_or_else(|| Refusal(format!("`{array}` is no array")))?;
            *index = match &index.base {
                Some(base) => {
                    let place = self.place_of(i, array, size, base, index.offset)?;
                    Address { base: Some(place), offset: 0 }
                }
                None => Address { base: None, offset: index.offset.wrapping_mul(size.into()) },
            };
        }
        Ok(Some(Instruction { operands, ..i.clone() }))
    }

    /// A sum of a register and a number as the register that holds it, of the size that an instruction wants; `None` if the
    /// operand is none. It is added in the register's own type, then cut off or extended by that type's sign. (ptxas extends
    /// so where it moves and stores; in arithmetic, as of `and.b64 %rd1, %r2+1, %rd2`, it leaves the upper half to chance.)
    pub fn sum(
        &mut self,
        operand: &Operand,
        wants: ScalarType,
        fit: Fit,
    ) -> Result<Option<Operand>, Refusal> {
        let Operand::Symbol(place) = operand else { return Ok(None) };
        if place.generic {
            return Ok(None);
        }
        let Some((sum, has)) = self.sum_of(&place.name, place.offset)? else { return Ok(None) };
        let unfit = || Refusal(format!("`{operand}` is `{has}`, the instruction takes `{wants}`"));
        if wants == ScalarType::Pred || wants.size() > 8 || !same_kind(has, wants) {
            return Err(unfit());
        }
        if has.size() == wants.size() || has.size() > wants.size() && fit == Fit::Wider {
            return Ok(Some(Operand::Name(sum)));
        }
        if fit == Fit::Exact {
            return Err(unfit());
        }
        let ty = match wants.size() {
            1 => ScalarType::B8,
            2 => ScalarType::B16,
            4 => ScalarType::B32,
            _ => ScalarType::B64,
        };
        let (bits, sign) = (ty.size() * 8, if has.is_signed() { 's' } else { 'u' });
        let whole = self.filled(format!("{sum}.{bits}"), ty);
        let opcode = format!("cvt.{sign}{bits}.{sign}{}", has.size() * 8);
        self.before(&opcode, [Operand::Name(whole.clone()), Operand::Name(sum)])?;
        Ok(Some(Operand::Name(whole)))
    }

    /// The register that holds a register and a number, of that register's type.
    fn sum_of(&mut self, name: &Name, offset: i64) -> Result<Option<(Name, ScalarType)>, Refusal> {
        let ty = if self.is_register(name) {
            self.register(name)?.1
        } else if special::fixed(name, Some("x")).is_some() {
            return Err(Refusal(format!("`{name}` is a vector, and sums are of one number")));
        } else {
            let fixed = special::fixed(name, None).map(|(_, rows)| rows);
            match fixed.or(special::changing(name).map(|(_, rows)| rows)) {
                Some(1) => ScalarType::B32,
                Some(2) => ScalarType::B64,
                _ => return Ok(None),
            }
        };
        if ty == ScalarType::Pred || ty.is_float() || ty.size() > 8 {
            return Err(Refusal(format!("`{name}` is `{ty}`, and sums are of whole numbers")));
        }
        // There is no arithmetic of 8 bits: their sum is one of 16, of which 8 are read.
        let byte = ty.size() == 1;
        let bits = if byte { 16 } else { ty.size() * 8 };
        let sum = self.filled(format!("{name}+{offset}"), if byte { ScalarType::U16 } else { ty });
        let to = || Operand::Name(sum.clone());
        let number = Operand::Constant(Constant::Integer { bits: offset as u64, unsigned: false });
        let moved = if byte { "cvt.u16.u8".into() } else { format!("mov.b{bits}") };
        self.before(&moved, [to(), Operand::Name(name.clone())])?;
        self.before(&format!("add.u{bits}"), [to(), to(), number])?;
        Ok(Some((sum, ty)))
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
        let Some((index, from)) = self.sum_of(index, offset)? else {
            return Err(Refusal(format!("the index `{index}` is not a register")));
        };
        let sign = if from.is_signed() { 's' } else { 'u' };
        let from = format!("{sign}{}", from.size() * 8);
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
        self.before(&format!("cvt.u32.{from}"), [name(&distance), name(&index)])?;
        self.before("mul.lo.u32", [name(&distance), name(&distance), size])?;
        self.before(&format!("mov.u{bits}"), [name(&place), name(array)])?;
        if narrow {
            self.before("add.u32", [name(&place), name(&place), name(&distance)])?;
        } else {
            let far = self.filled(format!("{array}[{index}] - {array}.64"), ScalarType::U64);
            self.before("cvt.u64.u32", [name(&far), name(&distance)])?;
            self.before("add.u64", [name(&place), name(&place), name(&far)])?;
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

    /// Decodes what stands before the instruction that is decoded.
    fn before<const N: usize>(&mut self, opcode: &str, operands: [Operand; N]) -> Result<(), Refusal> {
        let mut words = opcode.split('.').map(Name::from);
        let name = words.next().unwrap_or_else(|| Name::from(opcode));
        let opcode = Arc::new(Opcode { name, modifiers: words.collect() });
        let (position, loc) = (self.position, self.loc);
        let (noted, reads_special) = (std::mem::take(&mut self.noted), self.reads_special);
        self.instruction(&Instruction { guard: None, opcode, operands: Box::new(operands), position, loc })?;
        (self.noted, self.reads_special) = (noted, reads_special);
        Ok(())
    }
}
