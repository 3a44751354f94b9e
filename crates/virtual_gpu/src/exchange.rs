//! Loads that only guess what a compare-and-swap will find.
//!
//! `old = *p; do { seen = old; old = atomicCAS(p, seen, f(seen)); } while (old != seen);` is how the programming guide
//! makes an atomic of any function. The first load is plain, and whatever it returns, the loop comes out right.

use std::collections::{HashMap, HashSet};

use crate::exec::registers::Slot;
use crate::op::{AddressOperand, AtomicFunction, OpKind};
use crate::program::{Code, FunctionCode};

impl Code {
    /// Whether an operation is a load whose value a compare-and-swap of the same place starts from.
    pub fn guesses(&self, pc: u32) -> bool {
        let at = self.functions.partition_point(|function| function.end <= pc);
        let Some(function) = self.functions.get(at).filter(|function| function.start <= pc) else {
            return false;
        };
        function.guesses.get_or_init(|| self.guesses_of(function)).contains(&pc)
    }

    fn guesses_of(&self, function: &FunctionCode) -> HashSet<u32> {
        let mut writers: HashMap<Slot, Vec<u32>> = HashMap::new();
        for pc in function.start..function.end {
            for &(slot, _) in &self.touched[pc as usize].writes {
                writers.entry(slot).or_default().push(pc);
            }
        }
        let mut found = HashSet::new();
        for pc in function.start..function.end {
            let OpKind::Atomic(atomic) = &self.ops[pc as usize].kind else { continue };
            if atomic.function != AtomicFunction::CompareAndSwap {
                continue;
            }
            let place = self.root(&writers, atomic.address);
            let mut open = atomic.operands.to_vec();
            let mut seen = HashSet::new();
            while let Some(slot) = open.pop().filter(|slot| seen.insert(*slot)) {
                for &writer in writers.get(&slot).into_iter().flatten() {
                    match &self.ops[writer as usize].kind {
                        OpKind::Load(load)
                            if load.width == atomic.width && self.root(&writers, load.address) == place =>
                        {
                            found.insert(writer);
                        }
                        _ => open.extend(self.copied(writer)),
                    }
                }
            }
        }
        found
    }

    /// What an operation copies unchanged.
    fn copied(&self, pc: u32) -> Option<Slot> {
        let opcode = self.opcodes[pc as usize].as_ref()?;
        match (opcode.name.as_str(), &*self.touched[pc as usize].reads) {
            ("mov" | "cvta", &[(slot, _)]) => Some(slot),
            _ => None,
        }
    }

    /// The register that an address was copied from, and the offset.
    fn root(&self, writers: &HashMap<Slot, Vec<u32>>, address: AddressOperand) -> (Slot, i64) {
        let mut base = address.base;
        // Copies of copies are few; a loop of them is none.
        for _ in 0..8 {
            match writers.get(&base).map(Vec::as_slice) {
                Some(&[writer]) => match self.copied(writer) {
                    Some(slot) => base = slot,
                    None => break,
                },
                _ => break,
            }
        }
        (base, address.offset)
    }
}
