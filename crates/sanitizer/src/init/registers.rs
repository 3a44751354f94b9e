//! Which bits of a warp's registers are undefined, and what instructions make of them.

use std::collections::HashMap;

use virtual_gpu::observer::{CollectiveKind, Operands, Operation, Register};

use super::origin::Origin;
use crate::flow::{self, Value, all_of};
use crate::reached::lanes;

/// Of one warp.
#[derive(Debug, Default)]
pub struct WarpRegisters {
    /// By slot: lanes in which some bit is undefined. Beyond the end: none.
    undefined: Vec<u32>,
    /// Slots in which some lane is undefined.
    pub tainted: u32,
    /// Which bits, where not all of them.
    partly: HashMap<(u32, u32), u128>,
    /// By slot, where it is undefined: what the value comes from. Of registers that start undefined, nothing.
    origins: Vec<Option<Origin>>,
    /// Operands of the instruction at this place, if any of them is undefined.
    pub reads: Vec<Register>,
    pub reads_of: u32,
}

impl WarpRegisters {
    #[inline]
    /// Lanes in which some bit is undefined.
    pub fn of(&self, slot: u32) -> u32 {
        self.undefined.get(slot as usize).copied().unwrap_or(0)
    }

    #[inline]
    pub fn set(&mut self, slot: u32, lanes: u32, undefined: u32) {
        let at = slot as usize;
        if at >= self.undefined.len() {
            if undefined & lanes == 0 {
                return;
            }
            self.undefined.resize(at + 1, 0);
        }
        let before = self.undefined[at];
        let now = before & !lanes | undefined & lanes;
        self.undefined[at] = now;
        self.tainted = self.tainted + u32::from(now != 0) - u32::from(before != 0);
        if !self.partly.is_empty() && before & lanes != 0 {
            crate::reached::lanes(before & lanes).for_each(|lane| {
                self.partly.remove(&(slot, lane));
            });
        }
    }

    /// Notes what an undefined value in a register comes from.
    pub fn came_from(&mut self, slot: u32, origin: Option<Origin>) {
        let at = slot as usize;
        if at >= self.origins.len() {
            self.origins.resize(at + 1, None);
        }
        self.origins[at] = origin;
    }

    /// The origin of the first undefined one of some registers, if `here` reads them.
    pub fn origin(&self, slots: impl IntoIterator<Item = u32>, here: Origin) -> Origin {
        let undefined = |slot: &u32| self.of(*slot) != 0;
        let slot = slots.into_iter().find(undefined);
        slot.and_then(|slot| self.origins.get(slot as usize).copied().flatten()).unwrap_or(here)
    }

    /// The undefined bits of a lane's register.
    pub fn bits(&self, register: Register, lane: u32) -> u128 {
        match self.of(register.slot) >> lane & 1 {
            0 => 0,
            _ => self.partly.get(&(register.slot, lane)).copied().unwrap_or(all_of(register)),
        }
    }

    pub fn set_bits(&mut self, register: Register, lane: u32, undefined: u128) {
        self.set(register.slot, 1 << lane, if undefined == 0 { 0 } else { !0 });
        if undefined != 0 && undefined != all_of(register) {
            self.partly.insert((register.slot, lane), undefined);
        }
    }
}

/// The lanes' values together: the result of a vote is undefined where another value of an undefined predicate would change it.
pub fn exchange(
    warp: &mut WarpRegisters,
    kind: CollectiveKind,
    all: u32,
    writes: &[Register],
    operands: &Operands<'_>,
) {
    let predicate = operands.register(0).map_or(0, |register| warp.of(register.slot));
    let (mut sure, mut open) = (0u32, 0u32);
    for lane in lanes(all) {
        let holds = operands.value(0, lane) != 0;
        open |= (predicate >> lane & 1) << lane;
        sure |= u32::from(holds && predicate >> lane & 1 == 0) << lane;
    }
    let undefined = match kind {
        CollectiveKind::Ballot => u128::from(open),
        CollectiveKind::VoteAny if sure != 0 => 0,
        CollectiveKind::VoteAll if sure | open != all => 0,
        _ => u128::MAX,
    };
    for &register in writes {
        lanes(all).for_each(|lane| warp.set_bits(register, lane, undefined & all_of(register)));
    }
}

/// An instruction that works in each lane by itself.
pub fn lane_by_lane(
    warp: &mut WarpRegisters,
    operation: Operation<'_>,
    all: u32,
    reads: &[Register],
    writes: &[Register],
    operands: &Operands<'_>,
) {
    let is_operand = |register: &Register| {
        (0..operands.len()).any(|i| operands.register(i).is_some_and(|o| o.slot == register.slot))
    };
    // A guard has been looked at already. What else is read beside the operands is part of every result.
    let beside: Vec<Register> = reads.iter().copied().filter(|r| r.bytes != 0 && !is_operand(r)).collect();
    let mut values = Vec::with_capacity(operands.len());
    let mut results = Vec::with_capacity(writes.len());
    for lane in lanes(all) {
        values.clear();
        values.extend((0..operands.len()).map(|i| Value {
            bits: operands.value(i, lane),
            undefined: operands.register(i).map_or(0, |register| warp.bits(register, lane)),
        }));
        results.clear();
        if beside.iter().any(|&register| warp.bits(register, lane) != 0) {
            results.extend(writes.iter().map(|_| u128::MAX));
        } else {
            flow::flow(operation, &values, writes, &mut results);
        }
        for (&register, &undefined) in writes.iter().zip(&results) {
            warp.set_bits(register, lane, undefined & all_of(register));
        }
    }
}
