//! Where in a function registers are alive: from where they are written to the last place that may read that.
//!
//! The usual analysis backwards over the basic blocks, for [`WIDTH`] registers at a time, so that it needs memory for the
//! blocks and not for blocks times registers. Only registers that some block reads before writing take part; all others
//! live within their blocks. The sets only grow, and a block is looked at again only when one of those behind it has grown:
//! blocks are in reverse post-order, so going from the last to the first is done once for each level of loops, not for each
//! register. Functions in which thousands of registers live through thousands of blocks are followed for [`EFFORT`] looks at
//! each block; of the registers that are left then it is said that they live throughout and may be read unset, which is true
//! of fewer, and costs rows.

use std::collections::HashMap;

use super::draft::Draft;
use crate::form::op::{Guard, OpKind};
use crate::form::registers::Slot;

/// Registers that are followed together.
const WIDTH: usize = 512;

/// How often a block is looked at, on the average.
const EFFORT: u64 = 32;

/// A set of them.
type Set = [u64; WIDTH / 64];

/// Facts about a function's registers.
pub(super) struct Liveness {
    /// Those that some way through the function reads before it writes them, ascending.
    pub unset: Box<[Slot]>,
    /// For each register of the function the first and the last operation at which it is alive, counted from the function's
    /// start; `None` if no operation names it.
    pub spans: Vec<Option<(u32, u32)>>,
    /// Blocks looked at.
    pub steps: u64,
}

/// Of operations that were laid out from program counter `start` on, in a frame of `rows` rows.
pub(super) fn liveness(drafts: &[Draft], start: u32, rows: u32) -> Liveness {
    let blocks = Blocks::of(drafts, start);
    let mut spans = vec![None; rows as usize];
    let (exposed, killed) = blocks.touches(drafts, &mut spans);
    let mut made = Liveness { unset: Box::new([]), spans, steps: blocks.starts.len() as u64 };
    let mut unset = Vec::new();
    let (mut exposed, mut killed) = (exposed.as_slice(), killed.as_slice());
    let mut sets = Sets::of(&blocks);
    while let Some(&(first, _)) = exposed.first() {
        if made.steps > EFFORT * blocks.next.len() as u64 {
            for &(slot, _) in exposed {
                made.spans[slot as usize] = Some((0, blocks.end - 1));
                unset.push(slot);
            }
            unset.dedup();
            break;
        }
        // The next registers, and what of the lists is theirs.
        let mut slots = Vec::with_capacity(WIDTH);
        let mut taken = 0;
        while let Some(&(slot, _)) = exposed.get(taken) {
            if slots.last() != Some(&slot) {
                if slots.len() == WIDTH {
                    break;
                }
                slots.push(slot);
            }
            taken += 1;
        }
        let last = slots[slots.len() - 1];
        let skipped = killed.partition_point(|kill| kill.0 < first);
        let theirs = killed.partition_point(|kill| kill.0 <= last);
        let number = |slot: Slot| slots.binary_search(&slot).ok();
        for &(slot, block) in &killed[skipped..theirs] {
            if let Some(number) = number(slot) {
                sets.touch(block as usize);
                sets.kills[block as usize][number / 64] |= 1 << (number % 64);
            }
        }
        for &(slot, block) in &exposed[..taken] {
            if let Some(number) = number(slot) {
                sets.touch(block as usize);
                sets.entry[block as usize][number / 64] |= 1 << (number % 64);
            }
        }
        made.steps += sets.settle(&blocks);
        sets.extend(&blocks, &slots, &mut made.spans);
        unset.extend(numbers(sets.entry[0]).map(|number| slots[number]));
        sets.clear();
        (exposed, killed) = (&exposed[taken..], &killed[theirs..]);
    }
    made.unset = unset.into();
    made
}

fn numbers(set: Set) -> impl Iterator<Item = usize> {
    set.into_iter().enumerate().flat_map(|(word, mut bits)| {
        std::iter::from_fn(move || {
            let bit = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
            bits &= bits - 1;
            Some(64 * word + bit)
        })
    })
}

/// A register in a block.
type Touch = (Slot, u32);

/// The basic blocks of a function; behind them, as nodes without operations, the tables that branches go by.
struct Blocks {
    /// First operation of each block, counted from the function's start.
    starts: Vec<u32>,
    end: u32,
    next: Vec<Vec<u32>>,
    before: Vec<Vec<u32>>,
}

impl Blocks {
    fn of(drafts: &[Draft], start: u32) -> Self {
        let end = drafts.len() as u32;
        let mut leads = vec![false; drafts.len()];
        leads[0] = true;
        let mut tables: HashMap<*const u32, (u32, &[u32])> = HashMap::new();
        let mut mark = |pc: u32| {
            if let Some(lead) = leads.get_mut(pc as usize) {
                *lead = true;
            }
        };
        for (at, draft) in (0..).zip(drafts) {
            match &draft.op.kind {
                OpKind::Branch { target } | OpKind::Jump { target } => mark(target - start),
                OpKind::BranchIndexed { targets, .. } => {
                    let number = tables.len() as u32;
                    tables.entry(targets.as_ptr()).or_insert_with(|| {
                        targets.iter().for_each(|target| mark(target - start));
                        (number, targets)
                    });
                }
                OpKind::Return | OpKind::Exit | OpKind::Trap => {}
                _ => continue,
            }
            mark(at + 1);
        }
        let starts: Vec<u32> = (0..end).filter(|&at| leads[at as usize]).collect();
        let block = |pc: u32| starts.partition_point(|&first| first <= pc - start) as u32 - 1;
        let count = starts.len();
        let mut next = vec![Vec::new(); count + tables.len()];
        for (number, targets) in tables.values() {
            next[count + *number as usize] = targets.iter().map(|&target| block(target)).collect();
        }
        for at in 0..count {
            let last = starts.get(at + 1).copied().unwrap_or(end) - 1;
            let op = &drafts[last as usize].op;
            let (to, ends) = match &op.kind {
                &OpKind::Branch { target } | &OpKind::Jump { target } => (Some(block(target)), true),
                OpKind::BranchIndexed { targets, .. } => {
                    (tables.get(&targets.as_ptr()).map(|(number, _)| count as u32 + number), true)
                }
                OpKind::Return | OpKind::Exit | OpKind::Trap => (None, true),
                _ => (None, false),
            };
            next[at].extend(to);
            let goes_on = !ends || op.guard.slot != Guard::ALWAYS.slot;
            next[at].extend((goes_on && at + 1 < count).then_some(at as u32 + 1));
        }
        let mut before = vec![Vec::new(); next.len()];
        for (at, next) in (0..).zip(&next) {
            next.iter().for_each(|&next| before[next as usize].push(at));
        }
        Blocks { starts, end, next, before }
    }

    fn range(&self, block: usize) -> std::ops::Range<u32> {
        self.starts[block]..self.starts.get(block + 1).copied().unwrap_or(self.end)
    }

    /// The registers that each block reads before it writes them, and those that it surely writes; by register. Notes the
    /// first and last operation that names each register.
    fn touches(&self, drafts: &[Draft], spans: &mut [Option<(u32, u32)>]) -> (Vec<Touch>, Vec<Touch>) {
        let (mut exposed, mut killed) = (Vec::new(), Vec::new());
        // By register the last block that was noted for it.
        let mut exposed_in = vec![u32::MAX; spans.len()];
        let mut killed_in = vec![u32::MAX; spans.len()];
        for block in 0..self.starts.len() as u32 {
            for at in self.range(block as usize) {
                let draft = &drafts[at as usize];
                let mut name = |slot: Slot| {
                    let span = spans[slot as usize].get_or_insert((at, at));
                    *span = (span.0.min(at), span.1.max(at));
                };
                let reads = draft
                    .touched
                    .reads
                    .iter()
                    .map(|read| read.0)
                    .chain(draft.touched.mentioned.iter().copied());
                for slot in reads {
                    name(slot);
                    let index = slot as usize;
                    if killed_in[index] != block && std::mem::replace(&mut exposed_in[index], block) != block
                    {
                        exposed.push((slot, block));
                    }
                }
                for &(slot, _) in &draft.touched.writes {
                    name(slot);
                    // What a guard may leave out is no sure write.
                    let always = draft.op.guard.slot == Guard::ALWAYS.slot;
                    if always && std::mem::replace(&mut killed_in[slot as usize], block) != block {
                        killed.push((slot, block));
                    }
                }
            }
        }
        exposed.sort_unstable();
        killed.sort_unstable();
        (exposed, killed)
    }
}

/// Live-ins of each block, among the registers that are followed at the time.
struct Sets {
    entry: Vec<Set>,
    exit: Vec<Set>,
    kills: Vec<Set>,
    /// The blocks that have some, so that the others cost nothing.
    touched: Vec<usize>,
    is_touched: Vec<bool>,
    waits: Vec<bool>,
}

impl Sets {
    fn of(blocks: &Blocks) -> Self {
        let empty = || vec![Set::default(); blocks.next.len()];
        let none = || vec![false; blocks.next.len()];
        Sets {
            entry: empty(),
            exit: empty(),
            kills: empty(),
            touched: Vec::new(),
            is_touched: none(),
            waits: none(),
        }
    }

    fn touch(&mut self, block: usize) {
        if !std::mem::replace(&mut self.is_touched[block], true) {
            self.touched.push(block);
        }
    }

    fn clear(&mut self) {
        for block in self.touched.drain(..) {
            self.is_touched[block] = false;
            for sets in [&mut self.entry, &mut self.exit, &mut self.kills] {
                sets[block] = Set::default();
            }
        }
    }

    /// Grows the sets until each block's holds what those behind it ask for. Gives the number of blocks looked at.
    fn settle(&mut self, blocks: &Blocks) -> u64 {
        let (mut steps, mut waiting) = (0, self.touched.len());
        self.touched.iter().for_each(|&block| self.waits[block] = true);
        let mut last = self.touched.iter().copied().max().unwrap_or(0);
        while waiting > 0 {
            let mut at = std::mem::take(&mut last) + 1;
            while at > 0 && waiting > 0 {
                at -= 1;
                if !std::mem::take(&mut self.waits[at]) {
                    continue;
                }
                waiting -= 1;
                steps += 1;
                let entry = self.entry[at];
                for &before in &blocks.before[at] {
                    let before = before as usize;
                    self.touch(before);
                    let mut grown = 0;
                    for word in 0..entry.len() {
                        self.exit[before][word] |= entry[word];
                        let more = entry[word] & !self.kills[before][word];
                        grown |= more & !self.entry[before][word];
                        self.entry[before][word] |= more;
                    }
                    if grown != 0 && !std::mem::replace(&mut self.waits[before], true) {
                        waiting += 1;
                        // Later blocks follow in the next pass.
                        if before >= at {
                            last = last.max(before);
                        }
                    }
                }
            }
        }
        steps
    }

    /// Lets the spans of registers reach over the blocks that they are alive at an end of.
    fn extend(&mut self, blocks: &Blocks, slots: &[Slot], spans: &mut [Option<(u32, u32)>]) {
        self.touched.sort_unstable();
        // Each end of a span is the first or last such block's, so each register is met once in either direction.
        let ends = self.touched.iter().filter(|&&block| block < blocks.starts.len()).flat_map(|&block| {
            let range = blocks.range(block);
            [(&self.entry[block], range.start), (&self.exit[block], range.end - 1)]
        });
        let mut reach = |known: &mut Set, set: &Set, at: u32| {
            for number in numbers(std::array::from_fn(|word| set[word] & !known[word])) {
                if let Some(span) = &mut spans[slots[number] as usize] {
                    *span = (span.0.min(at), span.1.max(at));
                }
            }
            known.iter_mut().zip(set).for_each(|(known, set)| *known |= set);
        };
        let ends: Vec<_> = ends.collect();
        let mut known = Set::default();
        ends.iter().for_each(|&(set, at)| reach(&mut known, set, at));
        known = Set::default();
        ends.iter().rev().for_each(|&(set, at)| reach(&mut known, set, at));
    }
}
