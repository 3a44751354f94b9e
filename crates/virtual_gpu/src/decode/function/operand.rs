//! Operands: the rows that they are read from or written to, or an address.

use ptx::{Constant, Name, Operand, ScalarType};

use super::{Decoder, Fit, Symbol, rows_of};
use crate::decode::Refusal;
use crate::form::access::AddressOperand;
use crate::form::op::SourceOperand;
use crate::form::program::{AddressForm, Init};
use crate::form::registers::{NONE, Slot};

impl Decoder<'_> {
    pub fn bits(constant: Constant, ty: ScalarType) -> Result<u128, Refusal> {
        use ScalarType::*;
        Ok(match (ty, constant) {
            (F32 | F64 | Tf32 | F16 | Bf16 | F16x2 | Bf16x2 | U16x2 | S16x2, Constant::Integer { .. }) => {
                return Err(Refusal(format!("a whole number where `{ty}` is wanted")));
            }
            (F32 | Tf32, c) => c.to_f32_bits().into(),
            (F64, c) => c.to_f64_bits().into(),
            (_, Constant::Integer { bits, .. }) => match ty.size() {
                1 => u128::from(bits as u8),
                2 => u128::from(bits as u16),
                4 => u128::from(bits as u32),
                8 => bits.into(),
                _ => bits as i64 as i128 as u128,
            },
            (B32, Constant::Single(bits)) => bits.into(),
            (B64, Constant::Double(value)) => value.to_bits().into(),
            _ => return Err(Refusal(format!("a floating-point constant where `{ty}` is wanted"))),
        })
    }

    /// A source operand of a type: its register, the constant's, the special register's.
    pub fn source(&mut self, operand: &Operand, ty: ScalarType) -> Result<Slot, Refusal> {
        self.source_as(operand, ty, Fit::Any)
    }

    /// An amount, a count or a mask, which has this type whatever the instruction's is.
    pub fn number(&mut self, operand: &Operand, ty: ScalarType) -> Result<Slot, Refusal> {
        self.source_as(operand, ty, Fit::Exact)
    }

    fn source_as(&mut self, operand: &Operand, ty: ScalarType, fit: Fit) -> Result<Slot, Refusal> {
        let sum = self.sum(operand, ty, fit)?;
        let operand = sum.as_ref().unwrap_or(operand);
        let slot = self.source_any(operand, ty)?;
        // Constants and what is fixed for a thread lie in rows of their own, which no instruction writes: to an observer
        // of definedness they are no registers.
        let register = match operand {
            Operand::Name(name) => crate::decode::special::fixed(name, None).is_none(),
            Operand::Component(name, part) => crate::decode::special::fixed(name, Some(part)).is_none(),
            _ => false,
        };
        let rows = rows_of(ty);
        if register {
            self.noted.reads.push((slot, rows));
        }
        self.noted.sources.push(SourceOperand { slot, rows, register, inverted: false });
        Ok(slot)
    }

    fn source_any(&mut self, operand: &Operand, ty: ScalarType) -> Result<Slot, Refusal> {
        match operand {
            Operand::Constant(constant) => {
                if ty == ScalarType::Pred {
                    let Some(set) = constant.integer().map(|bits| bits != 0) else {
                        return Err(Refusal(format!("`{operand}` where a predicate is wanted")));
                    };
                    return self.constant(if set { u32::MAX.into() } else { 0 }, 0);
                }
                let bits = Self::bits(*constant, ty)?;
                self.constant(bits, rows_of(ty))
            }
            Operand::Name(name) => {
                if let Some((init, width)) = crate::decode::special::fixed_as(name, None, rows_of(ty)) {
                    self.special(name)?;
                    self.check_width(name, width, rows_of(ty))?;
                    return self.init(init, width);
                }
                let (slot, has) = match self.register(name) {
                    Ok(found) => found,
                    Err(unknown) => {
                        let (which, width) = crate::decode::special::changing(name).ok_or(unknown)?;
                        self.special(name)?;
                        self.check_width(name, width, rows_of(ty))?;
                        return self.special_before(which, width);
                    }
                };
                self.check_type(name, has, ty)?;
                Ok(slot)
            }
            Operand::Component(name, part) => {
                if let Some((init, width)) = crate::decode::special::fixed(name, Some(part)) {
                    self.special(name)?;
                    self.check_width(name, width, rows_of(ty))?;
                    return self.init(init, width);
                }
                self.component(name, part, ty)
            }
            // The address of a variable; its name alone is an operand of `mov` and its like only.
            Operand::Symbol(place) if !place.generic && ty != ScalarType::Pred && !ty.is_float() => {
                match self.symbol(&place.name).cloned() {
                    Some(symbol) if ty.size() >= 4 => {
                        self.symbol_address(&symbol, place.offset, rows_of(ty) == 2, false)
                    }
                    _ => Err(Refusal(format!("`{operand}` cannot be an operand here"))),
                }
            }
            other => Err(Refusal(format!("`{other}` cannot be an operand here"))),
        }
    }

    fn special(&self, name: &Name) -> Result<(), Refusal> {
        if self.reads_special {
            return Ok(());
        }
        Err(Refusal(format!("`{name}` is a special register, which `mov` reads into another")))
    }

    fn component(&mut self, name: &Name, part: &Name, ty: ScalarType) -> Result<Slot, Refusal> {
        let (slot, has, vector) = self.vector_register(name)?;
        let index = match part.as_str() {
            "x" | "r" => 0,
            "y" | "g" => 1,
            "z" | "b" => 2,
            "w" | "a" => 3,
            _ => u8::MAX,
        };
        if index >= vector {
            return Err(Refusal(format!("`{name}` has no component `.{part}`")));
        }
        self.check_type(name, has, ty)?;
        Ok(slot + u32::from(index) * rows_of(has).max(1))
    }

    fn check_type(&self, name: &Name, has: ScalarType, wants: ScalarType) -> Result<(), Refusal> {
        if (has == ScalarType::Pred) != (wants == ScalarType::Pred) {
            return Err(Refusal(format!("`{name}` is `{has}`, the instruction takes `{wants}`")));
        }
        self.check_width(name, rows_of(has), rows_of(wants))?;
        // Sixteen bits lie in a row as thirty-two do, and eight, which only loads, stores, `cvt` and `mov` in parts know.
        let byte = |ty: ScalarType| ty != ScalarType::Pred && ty.size() == 1;
        let narrow = |ty: ScalarType| ty != ScalarType::Pred && ty.size() == 2;
        if narrow(has) != narrow(wants) || byte(has) != byte(wants) || !same_kind(has, wants) {
            return Err(Refusal(format!("`{name}` is `{has}`, the instruction takes `{wants}`")));
        }
        Ok(())
    }

    fn check_width(&self, name: &Name, has: u32, wants: u32) -> Result<(), Refusal> {
        if has != wants {
            let (has, wants) = (has * 32, wants * 32);
            return Err(Refusal(format!("`{name}` has {has} bits, the instruction takes {wants}")));
        }
        Ok(())
    }

    /// A predicate operand that may be negated: its register, and whether it is.
    pub fn predicate_source(&mut self, operand: &Operand) -> Result<(Slot, bool), Refusal> {
        match operand {
            Operand::Not(inner) => {
                let (slot, inverted) = self.predicate_source(inner)?;
                if let Some(last) = self.noted.sources.last_mut() {
                    last.inverted = !inverted;
                }
                Ok((slot, !inverted))
            }
            other => Ok((self.source(other, ScalarType::Pred)?, false)),
        }
    }

    /// A destination of a type; [`NONE`] for `_`.
    pub fn target(&mut self, operand: &Operand, ty: ScalarType) -> Result<Slot, Refusal> {
        let slot = match operand {
            Operand::Sink => return Ok(NONE),
            Operand::Name(name) => {
                let (slot, has) = self.register(name)?;
                self.check_type(name, has, ty)?;
                slot
            }
            Operand::Component(name, part) => self.component(name, part, ty)?,
            other => return Err(Refusal(format!("`{other}` cannot be a destination"))),
        };
        self.noted.writes.push((slot, rows_of(ty)));
        Ok(slot)
    }

    /// A destination that must exist.
    pub fn real_target(&mut self, operand: &Operand, ty: ScalarType) -> Result<Slot, Refusal> {
        match self.target(operand, ty)? {
            NONE => Err(Refusal::new("what it gives goes to a register")),
            slot => Ok(slot),
        }
    }

    /// A destination, for `_` a scratch register.
    pub fn kept_target(&mut self, operand: &Operand, ty: ScalarType) -> Result<Slot, Refusal> {
        match self.target(operand, ty)? {
            NONE => self.take_rows(rows_of(ty)),
            slot => Ok(slot),
        }
    }

    /// A destination or source whose register may be wider than the type: its row and its own type.
    pub fn wide_register(
        &mut self,
        operand: &Operand,
        ty: ScalarType,
        write: bool,
    ) -> Result<(Slot, ScalarType), Refusal> {
        let sum = if write { None } else { self.sum(operand, ty, Fit::Wider)? };
        let operand = sum.as_ref().unwrap_or(operand);
        let (slot, has) = match operand {
            Operand::Name(name) => match self.register(name) {
                Ok(found) => found,
                Err(refusal) if write => return Err(refusal),
                Err(_) => return Ok((self.source(operand, ty)?, ty)),
            },
            Operand::Component(name, _)
                if crate::decode::special::fixed(name, None).is_none() && self.is_register(name) =>
            {
                let (_, has, _) = self.vector_register(name)?;
                let Operand::Component(name, part) = operand else {
                    return Err(Refusal::new("no component"));
                };
                (self.component(name, part, has)?, has)
            }
            Operand::Sink if write => return Ok((NONE, ty)),
            other if !write => return Ok((self.source(other, ty)?, ty)),
            other => return Err(Refusal(format!("`{other}` cannot be a destination"))),
        };
        if has == ScalarType::Pred || has.size() < ty.size() || !same_kind(has, ty) {
            return Err(Refusal(format!("a register of `{has}` cannot hold `{ty}`")));
        }
        if write {
            self.noted.writes.push((slot, rows_of(has)))
        } else {
            self.noted.reads.push((slot, rows_of(has)));
            self.noted.sources.push(SourceOperand {
                slot,
                rows: rows_of(has),
                register: true,
                inverted: false,
            });
        }
        Ok((slot, has))
    }

    /// Notes one component of a vector register that is passed.
    pub fn note_component(&mut self, slot: Slot, rows: u32, write: bool) {
        if write {
            self.noted.writes.push((slot, rows));
        } else {
            self.noted.reads.push((slot, rows));
            self.noted.sources.push(SourceOperand { slot, rows, register: true, inverted: false });
        }
    }

    /// Notes a register that is read beside the operands.
    pub fn note_read(&mut self, slot: Slot, rows: u32) {
        self.noted.reads.push((slot, rows));
    }

    /// Notes a register that is written beside the operands.
    pub fn note_write(&mut self, slot: Slot, rows: u32) {
        self.noted.writes.push((slot, rows));
    }

    /// The address of a variable as a register. `wide`: 64 bits.
    pub fn symbol_address(
        &mut self,
        symbol: &Symbol,
        offset: i64,
        wide: bool,
        generic: bool,
    ) -> Result<Slot, Refusal> {
        let form = match (generic, wide) {
            (true, _) => AddressForm::Generic,
            (false, true) => AddressForm::Wide,
            (false, false) => AddressForm::Narrow,
        };
        let rows = if wide || generic { 2 } else { 1 };
        match *symbol {
            Symbol::Shared(variable) => {
                self.shared_used.insert(variable);
                let slot = self.init(Init::Shared { variable, offset, form }, rows)?;
                self.noted.symbols.push(slot);
                Ok(slot)
            }
            Symbol::Local { offset: start, .. } => {
                self.init(Init::Local { offset: i64::from(start) + offset, form }, rows)
            }
            Symbol::KernelParam { offset: start, .. } => {
                let base = if generic { crate::memory::window::PARAM } else { 0 };
                self.constant(
                    u128::from(base.wrapping_add(u64::from(start)).wrapping_add(offset as u64)),
                    rows,
                )
            }
            Symbol::Global(address) | Symbol::Const(address) | Symbol::Image(address) => {
                let place = address.wrapping_add(offset as u64);
                self.constant(if rows == 2 { place.into() } else { (place as u32).into() }, rows)
            }
            _ => Err(Refusal::new("this name has no address of that width")),
        }
    }

    /// The address in brackets: base register and offset. The symbol, if the base is one.
    pub fn address(&mut self, address: &ptx::Address) -> Result<(AddressOperand, Option<Symbol>), Refusal> {
        let offset = address.offset;
        let Some(name) = &address.base else {
            return Ok((AddressOperand { base: NONE, wide: true, offset }, None));
        };
        let symbol = self.symbol(name).cloned();
        match symbol {
            Some(Symbol::Register { .. }) | None => {
                if symbol.is_none() && !self.is_register(name) {
                    if let Some((init, rows)) = crate::decode::special::fixed(name, None) {
                        let base = self.init(init, rows)?;
                        return Ok((AddressOperand { base, wide: rows == 2, offset }, None));
                    }
                    return Err(Refusal(format!("`{name}` is not declared")));
                }
                let (base, ty) = self.register(name)?;
                let rows = rows_of(ty);
                if ty == ScalarType::Pred || ty.is_float() || rows > 2 {
                    return Err(Refusal(format!("`{name}` cannot hold an address")));
                }
                self.noted.reads.push((base, rows));
                Ok((AddressOperand { base, wide: rows == 2, offset }, None))
            }
            Some(Symbol::KernelParam { offset: start, .. }) => Ok((
                AddressOperand { base: NONE, wide: true, offset: i64::from(start).wrapping_add(offset) },
                symbol,
            )),
            Some(Symbol::Global(at) | Symbol::Const(at) | Symbol::Image(at)) => {
                let offset = (at as i64).wrapping_add(offset);
                Ok((AddressOperand { base: NONE, wide: true, offset }, symbol))
            }
            Some(symbol @ (Symbol::Local { .. } | Symbol::Shared(_))) => {
                let base = self.symbol_address(&symbol, 0, true, false)?;
                Ok((AddressOperand { base, wide: true, offset }, Some(symbol)))
            }
            Some(_) => Err(Refusal(format!("`{name}` has no address"))),
        }
    }
}

/// Whether a register of a type may stand where an instruction wants another of its size. Untyped ones may anywhere, and the
/// sign does not matter; what PTX came to know late, such as `bf16`, lies in untyped ones only.
pub fn same_kind(has: ScalarType, wants: ScalarType) -> bool {
    use ScalarType::*;
    match wants {
        B8 | B16 | B32 | B64 | B128 => true,
        _ if matches!(has, B8 | B16 | B32 | B64 | B128) || has == wants => true,
        U16x2 | S16x2 => has == F16x2,
        F16 | F32 | F64 | F16x2 | F32x2 | Bf16 | Bf16x2 | Tf32 => false,
        _ => !matches!(has, F16 | F32 | F64),
    }
}
