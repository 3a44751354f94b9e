//! Loads and stores that belong together: `x += y` without an atomic, and polling of a flag.
//!
//! Both are recognised from the program alone, so that a race check can say what such an access needs: an update needs
//! an atomic, and a flag is meant to be read while others write it.

use std::collections::{HashMap, HashSet};

use super::access::{MemorySpace, Order, SpaceOperand};
use super::exchange::{DEEP, Flow, Kept, STEPS};
use super::op::{MemoryOp, OpKind};
use super::program::Code;
use super::registers::NONE;

impl Code {
    /// The loads at the same address from whose values a store computes what it writes.
    pub fn updates(&self, pc: u32) -> &[u32] {
        let followed = self.followed(pc);
        followed.and_then(|followed| followed.updates.get(&pc)).map_or(&[], |loads| loads)
    }

    /// Whether an operation is a volatile load or store that is right only if something else orders it: the store of an
    /// update, or a load of something other than a flag.
    pub fn relies_on_order(&self, pc: u32) -> bool {
        match self.ops.get(pc as usize).map(|op| &op.kind) {
            Some(OpKind::Store(_)) => !self.updates(pc).is_empty(),
            Some(OpKind::Load(_)) => self.followed(pc).is_some_and(|followed| !followed.flags.contains(&pc)),
            _ => false,
        }
    }
}

/// How many volatile loads of a function are examined for a loop.
const MOST_LOOKS: usize = 256;

fn own(op: &MemoryOp) -> bool {
    matches!(op.space, SpaceOperand::In(MemorySpace::Local | MemorySpace::Param))
}

impl Flow<'_> {
    /// The stores that update, with the loads they start from.
    pub(super) fn updates(&self) -> HashMap<u32, Box<[u32]>> {
        let mut found = HashMap::new();
        for pc in self.pcs() {
            let OpKind::Store(store) = &self.code.ops[pc as usize].kind else { continue };
            if !own(store) && self.local(store).is_none() {
                let loads = self.loads_of(store);
                if !loads.is_empty() {
                    found.insert(pc, loads.into());
                }
            }
        }
        found
    }

    fn loads_of(&self, store: &MemoryOp) -> Vec<u32> {
        let place = self.address(store.address);
        let mut open: Vec<(Kept, u32)> = store.data.iter().map(|&slot| (Kept::Slot(slot), 0)).collect();
        let (mut seen, mut loads, mut steps) = (HashSet::new(), Vec::new(), 0);
        while let Some((at, depth)) = open.pop() {
            if depth > DEEP || !seen.insert(at) {
                continue;
            }
            let writers = self.writers(at);
            steps += writers.len();
            if steps > STEPS {
                break;
            }
            for &writer in writers {
                match &self.code.ops[writer as usize].kind {
                    OpKind::Load(load) if !own(load) && self.local(load).is_none() => {
                        if load.width == store.width && self.address(load.address) == place {
                            loads.push(writer);
                        }
                    }
                    OpKind::Alu(_) => {
                        let reads = self.code.touched[writer as usize].reads.iter();
                        open.extend(reads.map(|&(slot, _)| (Kept::Slot(slot), depth + 1)));
                    }
                    _ => open.extend(self.copied(writer).map(|from| (from, depth + 1))),
                }
            }
        }
        loads
    }

    /// Volatile loads of flags: their value only decides branches, or a loop reads the same address again, or another load
    /// does. What an update starts from is not a flag.
    pub(super) fn flags(&self, updates: &HashMap<u32, Box<[u32]>>) -> HashSet<u32> {
        let loads: Vec<(u32, &MemoryOp)> = self
            .pcs()
            .filter_map(|pc| match &self.code.ops[pc as usize].kind {
                OpKind::Load(load) if load.order == Order::Volatile => Some((pc, &**load)),
                _ => None,
            })
            .collect();
        if loads.is_empty() {
            return HashSet::new();
        }
        let mut flags = self.only_compared(&loads);
        // Each one needs a walk through the program.
        let looks = loads.iter().take(MOST_LOOKS).filter(|(pc, load)| self.reads_again(*pc, load));
        let repeated: HashSet<_> = looks.map(|(_, load)| self.address(load.address)).collect();
        flags.extend(
            loads
                .iter()
                .filter(|(_, load)| repeated.contains(&self.address(load.address)))
                .map(|(pc, _)| *pc),
        );
        updates.values().flat_map(|loads| loads.iter()).for_each(|load| {
            flags.remove(load);
        });
        flags
    }

    /// Whether a loop comes back to a load without a step to another address: data that is read element by element is no
    /// flag. Nor is what is read again behind a block barrier, unless the barrier decides with it.
    fn reads_again(&self, pc: u32, load: &MemoryOp) -> bool {
        let mut avoid = self.steps_of(load);
        avoid.extend(self.pcs().filter(|&pc| match &self.code.ops[pc as usize].kind {
            OpKind::Barrier(barrier) => barrier.target == NONE,
            _ => false,
        }));
        self.code.reaches_around(pc, pc, &avoid)
    }

    /// The operations by which an address goes on from itself, such as the increment of the index that it is made from, or by
    /// which it is drawn from a counter.
    fn steps_of(&self, load: &MemoryOp) -> HashSet<u32> {
        let mut steps = HashSet::new();
        let (mut open, mut seen) = (vec![Kept::Slot(load.address.base)], HashSet::new());
        while let Some(at) = open.pop() {
            if seen.len() > STEPS || !seen.insert(at) {
                continue;
            }
            for &writer in self.writers(at) {
                let sources = self.sources(writer);
                if matches!(self.code.ops[writer as usize].kind, OpKind::Atomic(_))
                    || self.comes_from(&sources, at)
                {
                    steps.insert(writer);
                }
                open.extend(sources);
            }
        }
        steps
    }

    /// The sources of an operation's result.
    fn sources(&self, pc: u32) -> Vec<Kept> {
        match &self.code.ops[pc as usize].kind {
            OpKind::Store(store) => store.data.iter().map(|&slot| Kept::Slot(slot)).collect(),
            OpKind::Load(load) => match self.local(load) {
                Some(variable) => vec![variable],
                None => vec![Kept::Slot(load.address.base)],
            },
            _ => self.code.touched[pc as usize].reads.iter().map(|&(slot, _)| Kept::Slot(slot)).collect(),
        }
    }

    /// Whether one of these values is computed from what a register or variable held before.
    fn comes_from(&self, sources: &[Kept], before: Kept) -> bool {
        let (mut open, mut seen) = (sources.to_vec(), HashSet::new());
        while let Some(at) = open.pop() {
            if at == before {
                return true;
            }
            if seen.len() <= STEPS && seen.insert(at) {
                open.extend(self.writers(at).iter().flat_map(|&writer| self.sources(writer)));
            }
        }
        false
    }

    fn only_compared(&self, loads: &[(u32, &MemoryOp)]) -> HashSet<u32> {
        let into: HashMap<u32, u32> =
            loads.iter().flat_map(|(pc, load)| load.data.iter().map(|&slot| (slot, *pc))).collect();
        let mut flags: HashSet<u32> = loads.iter().map(|(pc, _)| *pc).collect();
        for pc in self.pcs() {
            let compares =
                self.code.opcodes[pc as usize].as_ref().is_some_and(|op| op.name.as_str() == "setp");
            for (slot, _) in self.code.touched[pc as usize].reads.iter().filter(|_| !compares) {
                if let Some(load) = into.get(slot) {
                    flags.remove(load);
                }
            }
        }
        flags
    }
}
