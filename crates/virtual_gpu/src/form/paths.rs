//! Where control can go in a program, and what follows from that: which code is behind a barrier, and which registers
//! may be read before anything was written to them.

use std::collections::{HashMap, HashSet};

use super::op::{Callee, Op, OpKind};
use super::program::{Code, FunctionCode};
use super::registers::NONE;

impl Code {
    /// The compute capability the module is compiled for: 75 for 7.5.
    pub fn target(&self) -> u32 {
        self.target
    }

    pub(super) fn function_of(&self, pc: u32) -> Option<&FunctionCode> {
        let function = self.functions.get(self.functions.partition_point(|f| f.end <= pc))?;
        (function.start <= pc).then_some(function)
    }

    /// Where control can go within a function after an operation.
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

    /// Whether a thread that has executed `from` can reach `to`, including through calls and returns. The caller of the
    /// function that contains `from` is not known: it may return to any of its calls.
    pub fn reaches(&self, from: u32, to: u32) -> bool {
        self.reaches_around(from, to, &HashSet::new())
    }

    /// The same on a way that executes none of some operations.
    pub(super) fn reaches_around(&self, from: u32, to: u32, avoided: &HashSet<u32>) -> bool {
        if from as usize >= self.ops.len() {
            return false;
        }
        // By program counter: visited below a call, from which it returns only to that call, or otherwise.
        let mut seen = vec![[false; 2]; self.ops.len()];
        let mut tables = HashSet::new();
        let mut open = vec![(from, false)];
        let mut next: Vec<(u32, bool)> = Vec::new();
        while let Some((pc, below)) = open.pop() {
            let (targets, goes_on) = self.successors(pc);
            // A table shared by many branches is examined once.
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
                if avoided.contains(&pc) {
                    continue;
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

    /// Where the source leaves a way that leads to `missed`, for a thread that has executed `last` and ended at `exit`: the
    /// operation of its `return`, or else the branch that skips the rest.
    pub fn early_exit(&self, last: u32, exit: u32, missed: u32) -> Option<u32> {
        if self.ops.get(exit as usize)?.guard.slot != NONE {
            return Some(exit);
        }
        let function = self.function_of(exit)?;
        let leaves = |pc: u32| match self.ops[pc as usize] {
            Op { guard, kind: OpKind::Branch { target } } if guard.slot != NONE => {
                let (first, other) = match self.straight_to(target, exit) {
                    Some(first) => (first, pc + 1),
                    None => (self.straight_to(pc + 1, exit)?, target),
                };
                (other == missed || self.reaches(other, missed)).then_some(first.unwrap_or(pc))
            }
            _ => None,
        };
        let inside = (function.start..function.end).contains(&last);
        let after = |pc: u32| !inside || last <= function.start || self.reaches(last, pc);
        (function.start..function.end).find_map(|pc| leaves(pc).filter(|_| after(pc)))
    }

    /// Whether nothing but jumps lies between two operations, and the first of them that the source has.
    fn straight_to(&self, from: u32, to: u32) -> Option<Option<u32>> {
        const MOST: u32 = 8;
        let (mut pc, mut first) = (from, None);
        for _ in 0..MOST {
            if pc == to {
                return Some(first);
            }
            let op = self.ops.get(pc as usize).filter(|op| op.guard.slot == NONE)?;
            pc = match op.kind {
                OpKind::Branch { target } => {
                    first = first.or(Some(pc));
                    target
                }
                OpKind::Jump { target } => target,
                OpKind::Nop => pc + 1,
                _ => return None,
            };
        }
        None
    }

    /// The calls of the function that contains an operation.
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

    /// The registers of a function that some path reads before it writes them, as slots in its frame. All others are
    /// written before they are read, on every path.
    pub fn unset(&self, function: u32) -> &[u32] {
        self.functions.get(function as usize).map_or(&[], |function| &function.unset)
    }
}
