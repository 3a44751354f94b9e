//! Undefined bits beside the values of matrices, for an observer that keeps them.

use std::convert::Infallible;

use super::extension::Machine;
use crate::form::access::{AddressOperand, SpaceOperand};
use crate::form::registers::{NONE, Slot};
use crate::matrix::ReadShared;
use crate::matrix::mma::Row;
use crate::observer::{At, MemorySpace, Register, Undefined};

/// Undefined bits of the registers of one frame, and of memory.
pub(super) struct Beside<'m> {
    kept: &'m mut dyn Undefined,
    at: At,
    base: u32,
}

impl<'m> Beside<'m> {
    /// `None` without an observer that keeps them.
    pub fn of(machine: &'m mut Machine<'_>, at: At) -> Option<Self> {
        let base = machine.warp.base_of(machine.regs);
        machine.observer.undefined().map(|kept| Beside { kept, at, base })
    }

    /// The warp's number in its block.
    pub fn warp(&self) -> u32 {
        self.at.warp
    }

    /// Whether some register of the warp has undefined bits.
    pub fn has_some(&self) -> bool {
        self.kept.has_some(self.at.warp)
    }

    /// Of registers of `bytes` bytes, lane by lane.
    pub fn registers(&self, slots: &[Slot], bytes: u32) -> Vec<[u64; 32]> {
        let of = |&slot: &Slot| self.kept.of_register(self.at.warp, self.register(slot, bytes));
        slots.iter().map(of).collect()
    }

    /// The same in words; of registers of 64 bits a word says whether there are any.
    pub fn rows(&self, slots: &[Slot], bytes: u32) -> Vec<Row> {
        let narrow = |bits: u64| if bytes == 8 { u32::from(bits != 0) } else { bits as u32 };
        self.registers(slots, bytes).into_iter().map(|lanes| lanes.map(narrow)).collect()
    }

    pub fn set_registers(&mut self, slots: &[Slot], bytes: u32, undefined: &[[u64; 32]]) {
        for (&slot, bits) in slots.iter().zip(undefined) {
            self.kept.set_register(self.at, self.register(slot, bytes), bits);
        }
    }

    /// From words, of which any bit stands for all of a register of 64 bits.
    pub fn set_rows(&mut self, slots: &[Slot], bytes: u32, undefined: &[Row]) {
        let wide = |word: u32| if bytes == 8 && word != 0 { u64::MAX } else { word.into() };
        let undefined: Vec<_> = undefined.iter().map(|row| row.map(wide)).collect();
        self.set_registers(slots, bytes, &undefined);
    }

    /// Of at most 16 bytes.
    pub fn memory(&mut self, space: SpaceOperand, address: u64, bytes: u32) -> u128 {
        let (space, address) = super::reach::named(space, address);
        self.kept.of_memory(space, address, bytes)
    }

    pub fn set_memory(&mut self, space: SpaceOperand, address: u64, bytes: u32, undefined: u128) {
        let (space, address) = super::reach::named(space, address);
        self.kept.set_memory(space, address, bytes, undefined);
    }

    /// An address of these lanes is made from this.
    pub fn address(&mut self, operand: AddressOperand, lanes: u32) {
        if operand.base != NONE {
            let register = self.register(operand.base, if operand.wide { 8 } else { 4 });
            self.kept.is_address(At { lanes: lanes & self.at.lanes, ..self.at }, register);
        }
    }

    /// A register describes where a matrix lies.
    pub fn descriptor(&mut self, slot: Slot) {
        self.kept.is_address(self.at, self.register(slot, 8));
    }

    /// D of a product, whose registers have `bytes` bytes, from A, B and C.
    pub fn product(
        &mut self,
        [d, a, b, c]: [&[Slot]; 4],
        bytes: u32,
        of: impl FnOnce(&[Row], &[Row], &[Row]) -> Vec<Row>,
    ) {
        let d_is = of(&self.rows(a, bytes), &self.rows(b, bytes), &self.rows(c, bytes));
        self.set_rows(d, bytes, &d_is);
    }

    fn register(&self, slot: Slot, bytes: u32) -> Register {
        Register { slot: self.base + slot, bytes }
    }
}

impl ReadShared for Beside<'_> {
    type Error = Infallible;

    fn read(&mut self, address: u32, piece: &mut [u32; 4]) -> Result<(), Infallible> {
        let bits = self.kept.of_memory(MemorySpace::Shared, address.into(), 16);
        *piece = [0, 32, 64, 96].map(|word| (bits >> word) as u32);
        Ok(())
    }
}
