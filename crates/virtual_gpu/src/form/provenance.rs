//! Which shared variable, or which of the kernel's parameters, an address was made from, as far as the text shows it.
//!
//! Shared variables lie side by side, so an index that runs over the end of one lands in the next and faults nowhere.
//! But most addresses are one variable's plus an index, and that is followed here through moves, sums and conversions.
//! An address that may come from two variables, from memory or from a caller is followed no further. Pointers that a kernel is
//! given are followed in the same way, on demand.
//!
//! The value of a register only ever rises: from unknown, to a number or one variable's address, to anything. Each rise
//! looks again at the operations that read the register, so a function takes at most [`RISES`] visits an operand.

use std::collections::HashMap;

use crate::form::access::AddressOperand;
use crate::form::op::OpKind;
use crate::form::program::{Code, FunctionCode, Init};
use crate::form::registers::Slot;

/// How often what a register holds can change.
const RISES: usize = 2;

/// The abstract value of a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Unknown,
    Number,
    Variable(u32),
    /// A parameter of 64 bits, by its offset in the parameter block.
    Parameter(u32),
    Anything,
}

impl Origin {
    /// Of a register that is written in two places: the least that is above both.
    fn or(self, other: Origin) -> Origin {
        match (self, other) {
            (Origin::Unknown, known) | (known, Origin::Unknown) => known,
            (a, b) if a == b => a,
            _ => Origin::Anything,
        }
    }
}

/// For each operation of a function the variable that its address was made from, counted from 1; 0 for none. And how
/// many operations were looked at.
pub(crate) fn shared_of(code: &Code, function: &FunctionCode) -> (Vec<u32>, u64) {
    let operations = function.start..function.end;
    let mut origins = Origins::of(code, function);
    if origins.known.is_empty() {
        return (vec![0; operations.len()], 0);
    }
    origins.settle();
    let variables = operations
        .map(|at| match address(&code.ops[at as usize].kind).map(|address| origins.get(address.base)) {
            Some(Origin::Variable(variable)) => variable + 1,
            _ => 0,
        })
        .collect();
    (variables, origins.visits as u64)
}

/// For each operation of a function the offset of the parameter that its address was made from, and 1; 0 for none.
pub(super) fn parameters_of(code: &Code, function: &FunctionCode) -> Box<[u32]> {
    let operations = function.start..function.end;
    let mut origins = Origins { parameters: true, ..Origins::of(code, function) };
    origins.settle();
    operations
        .map(|at| match address(&code.ops[at as usize].kind).map(|address| origins.get(address.base)) {
            Some(Origin::Parameter(offset)) => offset + 1,
            _ => 0,
        })
        .collect()
}

/// The abstract values of a function's registers, on the way to a fixed point.
struct Origins<'c> {
    code: &'c Code,
    operations: std::ops::Range<u32>,
    known: HashMap<Slot, Origin>,
    /// Whether parameters are followed, and not shared variables alone.
    parameters: bool,
    /// The operations that read a register.
    readers: HashMap<Slot, Vec<u32>>,
    /// Operations to be looked at, and whether one is among them.
    open: Vec<u32>,
    is_open: Vec<bool>,
    visits: usize,
}

impl<'c> Origins<'c> {
    /// Values before any operation: addresses of shared variables. Empty if there are none.
    fn of(code: &'c Code, function: &FunctionCode) -> Self {
        let mut known = HashMap::new();
        for &(slot, init) in &function.inits {
            if let Init::Shared { variable, .. } = init {
                known.insert(slot, Origin::Variable(variable));
            }
        }
        let operations = function.start..function.end;
        let (readers, open, is_open) = (HashMap::new(), Vec::new(), Vec::new());
        Origins { code, operations, known, parameters: false, readers, open, is_open, visits: 0 }
    }

    fn get(&self, slot: Slot) -> Origin {
        self.known.get(&slot).copied().unwrap_or(Origin::Unknown)
    }

    /// Raises origins until each is what the operations that write the register make of what they read.
    fn settle(&mut self) {
        let (mut written, mut operands) = (Vec::new(), 0);
        for at in self.operations.clone() {
            for slot in reads(self.code, at) {
                self.readers.entry(slot).or_default().push(at);
                operands += 1;
            }
            written.extend(self.code.touched[at as usize].writes.iter().map(|write| write.0));
        }
        written.sort_unstable();
        written.dedup();
        // What nothing writes but the caller or the launch is taken for a number, as an index is.
        let unwritten = self.readers.keys().filter(|slot| written.binary_search(slot).is_err());
        for slot in unwritten.copied().collect::<Vec<_>>() {
            self.known.entry(slot).or_insert(Origin::Number);
        }
        self.is_open = vec![true; self.operations.len()];
        self.open = self.operations.clone().rev().collect();
        self.drain();
        // Registers that are made from each other alone never got an address.
        for slot in written {
            if self.get(slot) == Origin::Unknown {
                self.raise(slot, Origin::Number);
            }
        }
        self.drain();
        debug_assert!(self.visits <= self.operations.len() + RISES * operands);
    }

    fn drain(&mut self) {
        while let Some(at) = self.open.pop() {
            self.is_open[(at - self.operations.start) as usize] = false;
            self.visits += 1;
            let origin = self.made_by(at);
            for &(slot, _) in &self.code.touched[at as usize].writes {
                self.raise(slot, origin);
            }
        }
    }

    fn raise(&mut self, slot: Slot, origin: Origin) {
        let old = self.get(slot);
        let new = old.or(origin);
        if new == old {
            return;
        }
        self.known.insert(slot, new);
        for &reader in self.readers.get(&slot).map_or(&[][..], Vec::as_slice) {
            let index = (reader - self.operations.start) as usize;
            if !std::mem::replace(&mut self.is_open[index], true) {
                self.open.push(reader);
            }
        }
    }

    /// The origin of what an operation writes. It rises when that of an operand does: nothing is said before all operands
    /// are known, and one that could be anything makes all else irrelevant.
    fn made_by(&self, at: u32) -> Origin {
        if let OpKind::LoadParam(param) = &self.code.ops[at as usize].kind
            && self.parameters
            && param.data.len() == 1
        {
            return if param.width == 8 { Origin::Parameter(param.offset) } else { Origin::Number };
        }
        let Some(opcode) = &self.code.opcodes[at as usize] else { return Origin::Anything };
        match opcode.name.as_str() {
            "mov" | "add" | "sub" | "mad" | "cvta" | "selp" | "cvt" => {}
            "ld" | "ldu" | "atom" | "call" => return Origin::Anything,
            _ => return Origin::Number,
        }
        // The product in it may be one of lengths that the kernel is given.
        let sources = &self.code.touched[at as usize].sources;
        if self.parameters && opcode.name == "mad" && sources.len() == 3 {
            return self.get(sources[2].slot);
        }
        let (mut unknown, mut made) = (false, Origin::Number);
        let mut difference = false;
        for slot in reads(self.code, at) {
            match (self.get(slot), made) {
                (Origin::Unknown, _) => unknown = true,
                (Origin::Number, _) => {}
                (Origin::Anything, _) => return Origin::Anything,
                // An address may be made again from how far two pointers are apart.
                (Origin::Parameter(_), Origin::Parameter(_)) if opcode.name == "sub" => {
                    return Origin::Anything;
                }
                // How far two addresses are apart is a number.
                (Origin::Variable(_), Origin::Variable(_)) if opcode.name == "sub" => difference = true,
                (found, Origin::Number) => made = found,
                (found, had) if found == had => {}
                _ => return Origin::Anything,
            }
        }
        match (unknown, difference) {
            (true, _) => Origin::Unknown,
            (false, true) => Origin::Number,
            (false, false) => made,
        }
    }
}

fn reads(code: &Code, at: u32) -> impl Iterator<Item = Slot> + '_ {
    let touched = &code.touched[at as usize];
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
