//! Where control may go in a program, and what that says: which places lie behind a barrier, and which registers may
//! be read before anything was written to them.

use std::collections::{HashMap, HashSet};

use crate::exec::registers::NONE;
use crate::op::{Callee, OpKind};
use crate::program::{Code, FunctionCode};

impl Code {
    fn function_of(&self, pc: u32) -> Option<&FunctionCode> {
        let function = self.functions.get(self.functions.partition_point(|f| f.end <= pc))?;
        (function.start <= pc).then_some(function)
    }

    /// Where control may go within a function after an operation.
    fn successors(&self, pc: u32) -> (&[u32], bool) {
        let op = &self.ops[pc as usize];
        let always = op.guard.slot == NONE;
        match &op.kind {
            OpKind::Branch { target } | OpKind::Jump { target } => (std::slice::from_ref(target), !always),
            OpKind::BranchIndexed { targets, .. } => (targets, !always),
            OpKind::Return | OpKind::Exit | OpKind::Trap => (&[], !always),
            _ => (&[], true),
        }
    }

    /// Whether a thread that has executed `from` may come to `to`, through calls and returns as well. Who called the
    /// function that holds `from` is not known: its return may go to any of its calls.
    pub fn reaches(&self, from: u32, to: u32) -> bool {
        if from as usize >= self.ops.len() {
            return false;
        }
        // By place: visited below a call, from which it comes back to that call alone, or otherwise.
        let mut seen = vec![[false; 2]; self.ops.len()];
        let mut tables = HashSet::new();
        let mut open = vec![(from, false)];
        let mut next: Vec<(u32, bool)> = Vec::new();
        while let Some((pc, below)) = open.pop() {
            let (targets, goes_on) = self.successors(pc);
            // A table that many branches go by is looked at once.
            let known = targets.len() > 1 && !tables.insert((targets.as_ptr(), below));
            let targets = if known { &[] } else { targets };
            next.extend(targets.iter().copied().chain(goes_on.then_some(pc + 1)).map(|pc| (pc, below)));
            match &self.ops[pc as usize].kind {
                OpKind::Call(call) => {
                    if let Callee::Direct(function) = call.callee {
                        next.push((self.functions[function as usize].start, true));
                    }
                }
                OpKind::Return if !below => {
                    next.extend(self.calls_of(pc).iter().map(|call| (call + 1, false)))
                }
                _ => {}
            }
            for (pc, below) in next.drain(..) {
                if pc == to {
                    return true;
                }
                if let Some(seen) = seen.get_mut(pc as usize)
                    && !std::mem::replace(&mut seen[usize::from(below)], true)
                {
                    open.push((pc, below));
                }
            }
        }
        false
    }

    /// The calls of the function that holds an operation.
    fn calls_of(&self, pc: u32) -> &[u32] {
        let calls = self.calls.get_or_init(|| {
            let mut calls: HashMap<u32, Vec<u32>> = HashMap::new();
            for (pc, op) in (0..).zip(&self.ops) {
                if let OpKind::Call(call) = &op.kind
                    && let Callee::Direct(function) = call.callee
                {
                    calls.entry(self.functions[function as usize].start).or_default().push(pc);
                }
            }
            calls
        });
        self.function_of(pc).and_then(|function| calls.get(&function.start)).map_or(&[], Vec::as_slice)
    }

    /// The registers of a function that some way through it reads before it writes them: their slots in its frame. All
    /// others are written before they are read, whatever way is taken.
    pub fn unset(&self, function: u32) -> &[u32] {
        match self.functions.get(function as usize) {
            Some(function) => function.unset.get_or_init(|| self.read_first(function)),
            None => &[],
        }
    }

    /// Liveness at the function's start, block by block from the end on.
    fn read_first(&self, function: &FunctionCode) -> Box<[u32]> {
        let blocks = Blocks::of(self, function);
        let mut numbers: HashMap<u32, usize> = HashMap::new();
        let mut slots = Vec::new();
        for pc in function.start..function.end {
            for &(slot, _) in &self.touched[pc as usize].reads {
                numbers.entry(slot).or_insert_with(|| {
                    slots.push(slot);
                    slots.len() - 1
                });
            }
        }
        let words = slots.len().div_ceil(64);
        let count = blocks.starts.len();
        let (mut reads, mut kills) = (vec![0u64; words * count], vec![0u64; words * count]);
        for block in 0..count {
            let (reads, kills) = (&mut reads[block * words..][..words], &mut kills[block * words..][..words]);
            for pc in blocks.range(block) {
                let touched = &self.touched[pc as usize];
                for number in touched.reads.iter().filter_map(|(slot, _)| numbers.get(slot)) {
                    if kills[number / 64] >> (number % 64) & 1 == 0 {
                        reads[number / 64] |= 1 << (number % 64);
                    }
                }
                // What a guard may leave out is no sure write.
                if self.ops[pc as usize].guard.slot == NONE {
                    for number in touched.writes.iter().filter_map(|(slot, _)| numbers.get(slot)) {
                        kills[number / 64] |= 1 << (number % 64);
                    }
                }
            }
        }
        let mut live = reads.clone();
        let mut open: Vec<usize> = (0..count).collect();
        let mut waits = vec![true; count];
        while let Some(block) = open.pop() {
            waits[block] = false;
            let mut changed = false;
            for &next in &blocks.next[block] {
                for word in 0..words {
                    let more = live[next * words + word] & !kills[block * words + word];
                    let at = &mut live[block * words + word];
                    changed |= more & !*at != 0;
                    *at |= more;
                }
            }
            if changed {
                for &before in &blocks.before[block] {
                    if !std::mem::replace(&mut waits[before], true) {
                        open.push(before);
                    }
                }
            }
        }
        slots
            .iter()
            .enumerate()
            .filter(|(i, _)| live.get(i / 64).is_some_and(|w| w >> (i % 64) & 1 != 0))
            .map(|(_, &slot)| slot)
            .collect()
    }
}

/// The basic blocks of a function.
struct Blocks {
    starts: Vec<u32>,
    end: u32,
    next: Vec<Vec<usize>>,
    before: Vec<Vec<usize>>,
}

impl Blocks {
    fn of(code: &Code, function: &FunctionCode) -> Self {
        let mut starts = vec![function.start];
        for pc in function.start..function.end {
            let (targets, goes_on) = code.successors(pc);
            starts.extend_from_slice(targets);
            if !targets.is_empty() || !goes_on {
                starts.push(pc + 1);
            }
        }
        starts.retain(|pc| (function.start..function.end).contains(pc));
        starts.sort_unstable();
        starts.dedup();
        let mut blocks =
            Blocks { end: function.end, next: Vec::new(), before: vec![Vec::new(); starts.len()], starts };
        for block in 0..blocks.starts.len() {
            let Some(last) = blocks.range(block).next_back() else { continue };
            let (targets, goes_on) = code.successors(last);
            let next = targets.iter().copied().chain(goes_on.then_some(last + 1));
            let next: Vec<usize> = next.filter_map(|pc| blocks.starts.binary_search(&pc).ok()).collect();
            next.iter().for_each(|&next| blocks.before[next].push(block));
            blocks.next.push(next);
        }
        blocks
    }

    fn range(&self, block: usize) -> std::ops::Range<u32> {
        self.starts[block]..self.starts.get(block + 1).copied().unwrap_or(self.end)
    }
}
