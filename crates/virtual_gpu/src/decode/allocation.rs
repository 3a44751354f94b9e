//! Rows for the registers of large functions: those that are never alive together share one.
//!
//! Compilers name a register for each value, thousands in a large function, and leave it to the assembler to find that few
//! are alive at a time. A frame holds every row for each call, so large functions are decoded twice: once to see where their
//! registers are alive, and once with the rows that this gives them.
//!
//! Lanes of one frame may be at different places, so that one lane's register and another's are in a row at the same
//! time. Each lane keeps to its own part of a row as long as all registers of the row are equally wide; so only those share.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::draft::Draft;
use super::liveness::Liveness;
use crate::form::registers::Slot;

/// Functions with more rows than this are worth being decoded twice.
pub(super) const LARGE: u32 = 512;

/// A register that a function's text names.
#[derive(Debug, Clone, Copy)]
pub(super) struct NamedRegister {
    pub slot: Slot,
    /// 0 for a predicate.
    pub rows: u32,
    /// Several components, which operations may write apart from each other.
    pub vector: bool,
}

/// Where the registers of a function lie, in the order in which its text names them first.
#[derive(Debug, Default)]
pub(super) struct Allocation {
    /// `None` for a register that has rows to itself.
    pub slots: Vec<Option<Slot>>,
    /// Rows that are taken.
    pub rows: u32,
}

impl Allocation {
    /// Goes through the registers in the order in which they begin to live, and gives each a row that is free again.
    pub fn of(named: &[NamedRegister], drafts: &[Draft], liveness: &Liveness) -> Self {
        let mut apart = vec![false; liveness.spans.len()];
        // Products of warpgroups read and write registers after they were issued.
        for draft in
            drafts.iter().filter(|d| d.opcode.as_ref().is_some_and(|opcode| &*opcode.name == "wgmma"))
        {
            let touched = draft.touched.reads.iter().chain(&draft.touched.writes);
            touched.for_each(|&(slot, _)| apart[slot as usize] = true);
        }
        let mut alive: Vec<(u32, u32, usize)> = Vec::new();
        for (index, register) in named.iter().enumerate() {
            if let Some((first, last)) = liveness.spans[register.slot as usize]
                && !register.vector
                && !apart[register.slot as usize]
            {
                alive.push((first, last, index));
            }
        }
        alive.sort_unstable();
        let mut made = Allocation { slots: vec![None; named.len()], rows: 0 };
        // By width, and when they are free.
        let mut taken: [BinaryHeap<Reverse<(u32, Slot)>>; 5] = Default::default();
        for (first, last, index) in alive {
            let rows = named[index].rows;
            let taken = &mut taken[rows as usize];
            // An operation may write what it gives before it has read all of its operands.
            let slot = match taken.peek() {
                Some(&Reverse((until, slot))) if until < first => {
                    taken.pop();
                    slot
                }
                _ => {
                    made.rows += rows.max(1);
                    made.rows - rows.max(1)
                }
            };
            taken.push(Reverse((last, slot)));
            made.slots[index] = Some(slot);
        }
        made
    }
}
