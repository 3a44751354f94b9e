//! What a store writes, for observers that compare values.

use std::marker::PhantomData;

use super::registers::{NONE, Regs, Slot};

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
    /// Of a store whose `slots` are registers of `rows` rows each, of which `width` bytes are stored.
    pub(crate) fn new(regs: Regs, slots: &'a [Slot], width: u32, rows: u32) -> Self {
        Values { regs, slots, width, rows, lives: PhantomData }
    }

    /// The four bytes from `offset` of what a lane stores; zero beyond its end. `offset` is a multiple of four.
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
            // SAFETY: decoding gave the slots `rows` rows each, and the rows stay where they are while the store is told.
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
