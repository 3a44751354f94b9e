//! Loads that only guess what a compare-and-swap will find.
//!
//! `old = *p; do { seen = old; old = atomicCAS(p, seen, f(seen)); } while (old != seen);` is how the programming guide
//! makes an atomic of any function. The first load is plain; whatever it returns, the loop gives the right result.
//!
//! So a load is followed to where its value is the one that a compare-and-swap of the same place compares with: through
//! moves and local variables, and, in code that was compiled without inlining, through calls of functions that do nothing
//! but swap. Two addresses are the same place if they were computed in the same way.
//!
//! All of it is nearly linear: the terms of an address are computed once per register and depth, the swaps of a
//! function once per function, and a swap is followed through at most [`STEPS`] copies.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::access::{AddressOperand, AtomicFunction, MemorySpace, SpaceOperand};
use super::op::{Callee, MemoryOp, OpKind};
use super::program::{CALLS, Code, Followed, FunctionCode, Init, SwappedParams};
use super::registers::{NONE, Slot};
use super::signature::Passed;

impl Code {
    /// Whether an operation is a load whose value becomes the expected value of a compare-and-swap at the same address.
    pub fn guesses(&self, pc: u32) -> bool {
        self.followed(pc).is_some_and(|followed| followed.guesses.contains(&pc))
    }

    /// The result of following values through the function that contains an operation.
    pub(super) fn followed(&self, pc: u32) -> Option<&Followed> {
        let function = self.function_of(pc)?;
        Some(function.followed.get_or_init(|| self.follow(function)))
    }

    /// Where an exchange puts the old value, one slot per element; `None` for all other operations.
    pub fn exchanged(&self, pc: u32) -> Option<&[Slot]> {
        match &self.ops[pc as usize].kind {
            OpKind::Atomic(op) if op.function == AtomicFunction::Exchange => Some(&op.targets),
            _ => None,
        }
    }

    /// Follows the values through a function.
    pub(crate) fn follow(&self, function: &FunctionCode) -> Followed {
        let flow = Flow::new(self, function);
        let updates = flow.updates();
        Followed { guesses: flow.guesses(), flags: flow.flags(&updates), updates }
    }

    /// The swaps in a function. `depth`: levels of calls to look into, fewer than [`CALLS`].
    fn swaps<'a>(&self, function: &'a FunctionCode, depth: usize) -> &'a [SwappedParams] {
        function.swaps[depth].get_or_init(|| self.find_swaps(function, depth))
    }

    fn find_swaps(&self, function: &FunctionCode, depth: usize) -> Box<[SwappedParams]> {
        let flow = Flow::new(self, function);
        let formal = |place: Kept| {
            let place = flow.origin(place);
            function.signature.params.iter().position(|param| match (param.place, place) {
                (Passed::Bytes { offset, .. }, Kept::Bytes(at)) => i64::from(offset) == at,
                (Passed::Registers { slot, count: 1, .. }, Kept::Slot(at)) => slot == at,
                _ => false,
            })
        };
        let swaps = flow.all_swaps(depth).into_iter();
        swaps
            .filter(|swap| swap.offset == 0)
            .filter_map(|swap| Some((formal(swap.address)?, formal(swap.compared)?)))
            .collect()
    }
}

/// Where a function keeps a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kept {
    Slot(Slot),
    /// A local variable, a parameter or an argument, by its offset in the frame.
    Bytes(i64),
}

/// A compare-and-swap, or a call of a function that is one.
struct Swap {
    address: Kept,
    offset: i64,
    compared: Kept,
    /// Width in bytes; `None` if only the called function knows.
    width: Option<u32>,
}

/// How an address is computed: equal terms mean the same computation.
type Term = (u64, i64);

/// Computations are compared to this depth; deeper ones are assumed to differ.
pub(super) const DEEP: u32 = 12;
/// How many writes of a swap's value are examined: the loop above has two.
pub(super) const STEPS: usize = 64;

/// How values flow through one function.
pub(super) struct Flow<'a> {
    pub(super) code: &'a Code,
    function: &'a FunctionCode,
    inits: HashMap<Slot, Init>,
    writers: HashMap<Kept, Vec<u32>>,
    /// By register and depth.
    terms: RefCell<HashMap<(Kept, u32), Term>>,
}

fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

impl<'a> Flow<'a> {
    fn new(code: &'a Code, function: &'a FunctionCode) -> Self {
        let inits = function.inits.iter().copied().collect();
        let mut flow = Flow { code, function, inits, writers: HashMap::new(), terms: RefCell::default() };
        for pc in flow.pcs() {
            for &(slot, _) in &code.touched[pc as usize].writes {
                flow.writers.entry(Kept::Slot(slot)).or_default().push(pc);
            }
        }
        // Needs the registers that hold addresses.
        for pc in flow.pcs() {
            match &code.ops[pc as usize].kind {
                OpKind::Store(store) => {
                    if let Some(place) = flow.local(store) {
                        flow.writers.entry(place).or_default().push(pc);
                    }
                }
                OpKind::Call(call) => {
                    for result in &call.results {
                        if let &Passed::Bytes { offset, .. } = result {
                            flow.writers.entry(Kept::Bytes(offset.into())).or_default().push(pc);
                        }
                    }
                }
                _ => {}
            }
        }
        flow
    }

    pub(super) fn pcs(&self) -> std::ops::Range<u32> {
        self.function.start..self.function.end
    }

    pub(super) fn writers(&self, place: Kept) -> &[u32] {
        self.writers.get(&place).map_or(&[], Vec::as_slice)
    }

    /// The local variable that an access names, if it names exactly one.
    pub(super) fn local(&self, op: &MemoryOp) -> Option<Kept> {
        if !matches!(op.space, SpaceOperand::In(MemorySpace::Local) | SpaceOperand::Generic) {
            return None;
        }
        let Kept::Slot(base) = self.origin(Kept::Slot(op.address.base)) else { return None };
        match self.inits.get(&base) {
            Some(&Init::Local { offset, .. }) if op.data.len() == 1 => {
                Some(Kept::Bytes(offset.wrapping_add(op.address.offset)))
            }
            _ => None,
        }
    }

    /// The source of the value an operation writes, if it leaves the value unchanged.
    pub(super) fn copied(&self, pc: u32) -> Option<Kept> {
        let touched = &self.code.touched[pc as usize];
        match &self.code.ops[pc as usize].kind {
            OpKind::Load(load) => return self.local(load),
            OpKind::Store(store) => return store.data.first().map(|&slot| Kept::Slot(slot)),
            _ => {}
        }
        let opcode = self.code.opcodes[pc as usize].as_ref()?;
        // 16-bit values are passed as 32-bit ones, and a shared array's address becomes a generic one.
        let widens = || opcode.modifiers.iter().all(|word| matches!(word.as_str(), "u16" | "u32" | "u64"));
        match (opcode.name.as_str(), &*touched.reads, &*touched.symbols) {
            ("cvt", &[(slot, _)], &[]) if widens() => Some(Kept::Slot(slot)),
            ("mov" | "cvta", &[(slot, _)], &[]) | ("mov" | "cvta", &[], &[slot]) => Some(Kept::Slot(slot)),
            ("mov" | "cvta", &[], &[]) => match &*touched.sources {
                [source] => Some(Kept::Slot(source.slot)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Where a value was originally copied from.
    fn origin(&self, mut place: Kept) -> Kept {
        for _ in 0..DEEP {
            match self.writers(place) {
                &[writer] => match self.copied(writer) {
                    Some(from) => place = from,
                    None => break,
                },
                _ => break,
            }
        }
        place
    }

    fn constant(&self, slot: Slot, rows: u32) -> Option<i64> {
        if self.inits.contains_key(&slot) || !self.writers(Kept::Slot(slot)).is_empty() {
            return None;
        }
        let row = self.function.image.get(slot as usize)?.0;
        match rows {
            1 => Some(i64::from(row[0] as i32)),
            2 => Some((u64::from(row[0]) | u64::from(row[1]) << 32) as i64),
            _ => None,
        }
    }

    pub(super) fn address(&self, address: AddressOperand) -> Term {
        let (term, offset) = match address.base {
            NONE => (0, 0),
            base => self.term(Kept::Slot(base), DEEP),
        };
        (term, offset.wrapping_add(address.offset))
    }

    fn term(&self, place: Kept, depth: u32) -> Term {
        let place = self.origin(place);
        if let Some(&known) = self.terms.borrow().get(&(place, depth)) {
            return known;
        }
        let term = self.computed(place, depth);
        self.terms.borrow_mut().insert((place, depth), term);
        term
    }

    fn computed(&self, place: Kept, depth: u32) -> Term {
        let (writer, slot) = match (place, self.writers(place)) {
            (Kept::Slot(slot), []) => {
                return match self.inits.get(&slot) {
                    Some(&Init::Shared { variable, offset, .. }) => (hash(("shared", variable)), offset),
                    Some(&Init::Local { offset, .. }) => (hash("local"), offset),
                    Some(init) => (hash(init), 0),
                    None => (hash(place), 0),
                };
            }
            (Kept::Slot(slot), &[writer]) if depth > 0 => (writer, slot),
            _ => return (hash(place), 0),
        };
        let touched = &self.code.touched[writer as usize];
        let opcode = self.code.opcodes[writer as usize].as_ref();
        match (&self.code.ops[writer as usize].kind, opcode) {
            (OpKind::LoadParam(param), _) if param.data.len() == 1 => (hash(("param", param.offset)), 0),
            (OpKind::Alu(_), Some(opcode)) if touched.writes.len() == 1 => {
                let constant = |at: usize| {
                    touched.sources.get(at).and_then(|source| self.constant(source.slot, source.rows))
                };
                let of = |at: usize| self.term(Kept::Slot(touched.sources[at].slot), depth - 1);
                match (opcode.name.as_str(), touched.sources.len(), constant(0), constant(1)) {
                    ("add", 2, _, Some(more)) => {
                        let (term, offset) = of(0);
                        (term, offset.wrapping_add(more))
                    }
                    ("add", 2, Some(more), _) => {
                        let (term, offset) = of(1);
                        (term, offset.wrapping_add(more))
                    }
                    _ => {
                        let sources: Vec<_> = (0..touched.sources.len())
                            .map(|at| constant(at).map_or_else(|| of(at), |constant| (1, constant)))
                            .collect();
                        let words: Vec<_> = opcode.modifiers.iter().map(|word| word.as_str()).collect();
                        (hash((opcode.name.as_str(), words, sources)), 0)
                    }
                }
            }
            _ => (hash((writer, slot)), 0),
        }
    }

    fn all_swaps(&self, depth: usize) -> Vec<Swap> {
        let mut swaps = Vec::new();
        for pc in self.pcs() {
            match &self.code.ops[pc as usize].kind {
                OpKind::Atomic(atomic) if atomic.function == AtomicFunction::CompareAndSwap => {
                    swaps.extend(atomic.operands.iter().map(|&compared| Swap {
                        address: Kept::Slot(atomic.address.base),
                        offset: atomic.address.offset,
                        compared: Kept::Slot(compared),
                        width: Some(atomic.width),
                    }));
                }
                OpKind::Call(call) if depth > 0 => {
                    let Callee::Direct(callee) = call.callee else { continue };
                    let argument = |at: usize| match *call.arguments.get(at)? {
                        // The last value stored to the argument before the call.
                        Passed::Bytes { offset, .. } => {
                            let place = Kept::Bytes(offset.into());
                            let writers = self.writers(place);
                            let before = writers.partition_point(|&writer| writer < pc).checked_sub(1);
                            before.map_or(Some(place), |last| self.copied(writers[last]))
                        }
                        Passed::Registers { slot, count: 1, .. } => Some(Kept::Slot(slot)),
                        Passed::Registers { .. } | Passed::Sink => None,
                    };
                    let callee = &self.code.functions[callee as usize];
                    // Such functions are short: do not search the rest of a program for them.
                    if callee.end - callee.start > 64 {
                        continue;
                    }
                    for &(address, compared) in self.code.swaps(callee, depth - 1) {
                        if let (Some(address), Some(compared)) = (argument(address), argument(compared)) {
                            swaps.push(Swap { address, offset: 0, compared, width: None });
                        }
                    }
                }
                _ => {}
            }
        }
        swaps
    }

    fn guesses(&self) -> HashSet<u32> {
        let mut found = HashSet::new();
        for swap in self.all_swaps(CALLS) {
            let (term, offset) = match swap.address {
                Kept::Slot(NONE) => (0, 0),
                place => self.term(place, DEEP),
            };
            let place = (term, offset.wrapping_add(swap.offset));
            let mut open = vec![swap.compared];
            let mut seen = HashSet::new();
            let mut steps = 0;
            while let Some(at) = open.pop().filter(|at| seen.insert(*at)) {
                let writers = self.writers(at);
                steps += writers.len();
                if steps > STEPS {
                    break;
                }
                for &writer in writers {
                    match &self.code.ops[writer as usize].kind {
                        OpKind::Load(load)
                            if swap.width.is_none_or(|width| load.width == width)
                                && self.address(load.address) == place =>
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
}
