//! The values that instructions work on, for observers that look at values.

use std::marker::PhantomData;

use super::op::SourceOperand;
use super::registers::{NONE, Register, Regs, Slot};

/// The registers of a store, read lane by lane on demand.
#[derive(Clone, Copy)]
pub struct Values<'a> {
    regs: Regs,
    slots: &'a [Slot],
    width: u32,
    rows: u32,
    lives: PhantomData<&'a Regs>,
}

impl std::fmt::Debug for Values<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Values").field("width", &self.width).finish()
    }
}

impl<'a> Values<'a> {
    /// For a store whose `slots` are registers of `rows` rows each, of which `width` bytes are stored.
    pub(crate) fn new(regs: Regs, slots: &'a [Slot], width: u32, rows: u32) -> Self {
        Values { regs, slots, width, rows, lives: PhantomData }
    }

    /// The four bytes at `offset` of what a lane stores; zero beyond its end. `offset` is a multiple of four.
    #[inline]
    pub fn word(&self, lane: u32, offset: u32) -> u32 {
        let lane = lane as usize & 31;
        let each = (4 / self.width.max(1)).max(1);
        let mut word = 0;
        for i in 0..each {
            let at = offset + i * self.width.min(4);
            let Some(&slot) = self.slots.get((at / self.width) as usize) else { break };
            if slot == NONE {
                continue;
            }
            // SAFETY: decoding gave the slots `rows` rows each, and the rows do not move while the store is reported.
            let value: u128 = unsafe {
                match self.rows {
                    1 => self.regs.get::<u32>(slot, lane).into(),
                    2 => self.regs.get::<u64>(slot, lane).into(),
                    _ => self.regs.get::<u128>(slot, lane),
                }
            };
            let part = (value >> (8 * (at % self.width))) as u32;
            let part = if self.width < 4 { part & ((1 << (8 * self.width)) - 1) } else { part };
            word |= part << (8 * i * self.width.min(4) % 32);
        }
        word
    }
}

/// The source operands of an instruction about to execute, in order, including constants.
#[derive(Clone, Copy)]
pub struct Operands<'a> {
    regs: Regs,
    base: u32,
    operands: &'a [SourceOperand],
}

impl std::fmt::Debug for Operands<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.operands).finish()
    }
}

impl Default for Operands<'_> {
    /// For an instruction without operands.
    fn default() -> Self {
        // SAFETY: no operand is ever read from it.
        Operands { regs: unsafe { Regs::new(std::ptr::null_mut()) }, base: 0, operands: &[] }
    }
}

impl<'a> Operands<'a> {
    /// For an instruction of the function whose frame is `regs`, at `base` among the warp's registers.
    pub(crate) fn new(regs: Regs, base: u32, operands: &'a [SourceOperand]) -> Self {
        Operands { regs, base, operands }
    }

    pub fn len(&self) -> usize {
        self.operands.len()
    }

    pub fn is_empty(&self) -> bool {
        self.operands.is_empty()
    }

    /// The operand's register; `None` for constants and values fixed per thread.
    pub fn register(&self, operand: usize) -> Option<Register> {
        let operand = self.operands.get(operand)?;
        operand.register.then(|| Register { slot: self.base + operand.slot, bytes: operand.rows * 4 })
    }

    /// Bits of an operand: 1 for a predicate.
    pub fn bits(&self, operand: usize) -> u32 {
        self.operands.get(operand).map_or(0, |operand| (operand.rows * 32).max(1))
    }

    /// Its value in a lane; for a predicate the value the instruction sees, inverted for `!p`.
    pub fn value(&self, operand: usize, lane: u32) -> u128 {
        let Some(operand) = self.operands.get(operand) else { return 0 };
        let i = lane as usize & 31;
        // SAFETY: decoding gave the operand that many rows of the frame, and no instruction runs while it is read.
        unsafe {
            match operand.rows {
                0 => u128::from(self.regs.predicate(operand.slot) >> i & 1 ^ u32::from(operand.inverted)),
                1 => self.regs.get::<u32>(operand.slot, i).into(),
                2 => self.regs.get::<u64>(operand.slot, i).into(),
                _ => self.regs.get::<u128>(operand.slot, i),
            }
        }
    }
}
