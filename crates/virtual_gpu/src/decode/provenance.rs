//! Which shared variable an address was made from, as far as the text shows it.
//!
//! Shared variables lie side by side, so an index that runs over the end of one lands in the next and faults nowhere.
//! But most addresses are one variable's plus an index, and that is followed here through moves, sums and conversions.
//! An address that may come from two variables, from memory or from a caller is followed no further.

use crate::exec::registers::Slot;
use crate::op::{AddressOperand, OpKind};
use crate::program::{Code, FunctionCode, Init};
use std::collections::HashMap;

/// What a register holds, from "nothing known yet" to "could be anything".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Unknown,
    Number,
    Variable(u32),
    Mixed,
}

impl Origin {
    /// Of a register that is written in two places.
    fn or(self, other: Origin) -> Origin {
        match (self, other) {
            (Origin::Unknown, known) | (known, Origin::Unknown) => known,
            (a, b) if a == b => a,
            _ => Origin::Mixed,
        }
    }
}

/// For each operation of a function the variable that its address was made from, counted from 1; 0 for none.
pub(super) fn shared_of(code: &Code, function: &FunctionCode) -> Vec<u32> {
    let operations = function.start as usize..function.end as usize;
    let mut origins: HashMap<Slot, Origin> = HashMap::new();
    for &(slot, init) in &function.inits {
        if let Init::Shared { variable, .. } = init {
            origins.insert(slot, Origin::Variable(variable));
        }
    }
    if origins.is_empty() {
        return vec![0; operations.len()];
    }
    let made = origins.clone();
    loop {
        let mut next = made.clone();
        for at in operations.clone() {
            let origin = contributes(code, at, &origins);
            for (slot, _) in &code.touched[at].writes {
                let slot = next.entry(*slot).or_insert(Origin::Unknown);
                *slot = slot.or(origin);
            }
        }
        if next == origins {
            break;
        }
        // Origins only become less certain, so this ends; what would go round is cut off at "could be anything".
        for (slot, origin) in next {
            let old = origins.entry(slot).or_insert(Origin::Unknown);
            *old = if made.contains_key(&slot) { origin } else { old.or(origin) };
        }
    }
    let of = |slot: Slot| match origins.get(&slot) {
        Some(&Origin::Variable(variable)) => variable + 1,
        _ => 0,
    };
    operations.map(|at| address(&code.ops[at].kind).map_or(0, |address| of(address.base))).collect()
}

/// The origin of what an operation writes.
fn contributes(code: &Code, at: usize, origins: &HashMap<Slot, Origin>) -> Origin {
    let Some(opcode) = &code.opcodes[at] else { return Origin::Mixed };
    match opcode.name.as_str() {
        "mov" | "add" | "sub" | "mad" | "cvta" | "selp" | "cvt" => {}
        "ld" | "ldu" | "atom" | "call" => return Origin::Mixed,
        _ => return Origin::Number,
    }
    let operands = reads(code, at);
    let mut origin = Origin::Number;
    let mut unknown = false;
    for slot in operands {
        match (origins.get(&slot).copied().unwrap_or(Origin::Unknown), origin) {
            (Origin::Unknown, _) => unknown = true,
            (Origin::Number, _) => {}
            (Origin::Mixed, _) => return Origin::Mixed,
            (Origin::Variable(_), Origin::Variable(_)) if opcode.name.as_str() == "sub" => {
                return Origin::Number;
            }
            (found @ Origin::Variable(_), Origin::Number) => origin = found,
            (found, had) if found == had => {}
            _ => return Origin::Mixed,
        }
    }
    if unknown && origin == Origin::Number { Origin::Unknown } else { origin }
}

fn reads(code: &Code, at: usize) -> impl Iterator<Item = Slot> + '_ {
    let touched = &code.touched[at];
    touched.reads.iter().map(|read| read.0).chain(touched.symbols.iter().copied())
}

/// Where an operation's address is.
fn address(kind: &OpKind) -> Option<AddressOperand> {
    match kind {
        OpKind::Load(op) | OpKind::Store(op) => Some(op.address),
        OpKind::Atomic(op) => Some(op.address),
        _ => None,
    }
}
