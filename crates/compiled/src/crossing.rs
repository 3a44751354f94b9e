//! Which registers come from the frame where code is entered, and which go back where it is left.
//!
//! Code is entered in two ways: behind an operation of the interpreter, as a barrier in a loop is, and anywhere else, where a
//! warp's turn had ended or its lanes met. The first is what happens again and again. So it loads only what may be read from
//! there on, and where the code is left after it only what may have been written since goes back; what a loop does not
//! change stays in the frame. The second moves all that is alive.

use std::collections::HashMap;

use virtual_gpu::jit::{Function, Kind, NONE};

use crate::blocks::{Blocks, End, Set};

/// How a run of the code began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    Anywhere,
    /// Behind an operation of the interpreter.
    Behind,
}

/// What is known of the registers of a block, by its number.
#[derive(Debug)]
struct Known {
    written: Set,
    /// What may have been written since the code was entered: anywhere, or behind an operation of the interpreter, if a way
    /// leads here from there.
    before: [Option<Set>; 2],
    /// What from here on may be read, or go back to the frame after an entry behind such an operation.
    needed: Set,
    /// Whether it stands behind an operation of the interpreter.
    behind: bool,
}

#[derive(Debug)]
pub struct Crossing(Vec<Known>);

/// What goes back where the code is left, by how it was entered.
#[derive(Debug, Clone)]
pub struct Written {
    pub anywhere: Set,
    /// `None` if no way leads here from such an entry.
    pub behind: Option<Set>,
}

impl Crossing {
    pub fn of(function: &Function<'_>, blocks: &Blocks) -> Self {
        let rows = function.rows();
        let count = blocks.blocks.len();
        let ways: Vec<Vec<usize>> = (0..count).map(|i| blocks.ways(function, i)).collect();
        let mut known: Vec<Known> = (0..count)
            .map(|i| {
                let (block, mut written, mut read) = (&blocks.blocks[i], Set::none(rows), Set::none(rows));
                for pc in block.start..block.behind() {
                    let step = function.step(pc);
                    step.writes.iter().for_each(|write| written.insert(write.0));
                    step.reads.iter().for_each(|read_| read.insert(read_.0));
                    step.mentioned.iter().for_each(|&slot| read.insert(slot));
                    if step.guard.slot != NONE {
                        read.insert(step.guard.slot);
                    }
                }
                if let End::Branch { guard, .. } = block.end
                    && guard.slot != NONE
                {
                    read.insert(guard.slot);
                }
                // Where the interpreter goes on, the entry before it has been paid for.
                let behind = i > 0
                    && matches!(blocks.blocks[i - 1].end, End::Interpreter)
                    && !matches!(function.step(block.start - 1).kind, Kind::End | Kind::Table(_));
                let before = [Some(Set::none(rows)), behind.then(|| Set::none(rows))];
                Known { written, before, needed: read, behind }
            })
            .collect();
        let mut changed = true;
        while changed {
            changed = false;
            for i in 0..count {
                for entry in 0..2 {
                    let Some(mut after) = known[i].before[entry].clone() else { continue };
                    after.add(&known[i].written);
                    for &next in &ways[i] {
                        match &mut known[next].before[entry] {
                            Some(before) => changed |= before.add(&after),
                            before => {
                                *before = Some(after.clone());
                                changed = true;
                            }
                        }
                    }
                }
            }
        }
        // Whoever leaves at a place brings all that may have been written by any who leave there.
        let mut leaving: HashMap<(usize, u32), Set> = HashMap::new();
        let exits: Vec<Vec<(u32, Set)>> = (0..count)
            .map(|i| match &known[i].before[Entry::Behind as usize] {
                Some(before) => exits(function, blocks, i, before, &known[i].written),
                None => Vec::new(),
            })
            .collect();
        for (block, exits) in blocks.blocks.iter().zip(&exits) {
            for (pc, written) in exits {
                leaving.entry((block.island, *pc)).or_insert_with(|| Set::none(rows)).add(written);
            }
        }
        for ((block, known), exits) in blocks.blocks.iter().zip(&mut known).zip(&exits) {
            for (pc, _) in exits {
                known.needed.add(&leaving[&(block.island, *pc)]);
            }
        }
        changed = true;
        while changed {
            changed = false;
            for i in (0..count).rev() {
                for &next in &ways[i] {
                    let needed = known[next].needed.clone();
                    changed |= known[i].needed.add(&needed);
                }
            }
        }
        Crossing(known)
    }

    /// How a run begins at a block.
    pub fn entry(&self, block: usize) -> Entry {
        if self.0[block].behind { Entry::Behind } else { Entry::Anywhere }
    }

    /// Whether a register that is alive where a block begins is wanted from the frame if the code is entered there.
    pub fn loads(&self, block: usize, slot: u32) -> bool {
        !self.0[block].behind || self.0[block].needed.has(slot)
    }

    /// What may have been written where a block begins, or `after` its operations.
    pub fn written(&self, block: usize, after: bool) -> Written {
        let known = &self.0[block];
        let of = |entry: Entry| {
            let mut written = known.before[entry as usize].clone()?;
            if after {
                written.add(&known.written);
            }
            Some(written)
        };
        let anywhere = of(Entry::Anywhere).unwrap_or_else(|| known.written.clone());
        Written { anywhere, behind: of(Entry::Behind) }
    }
}

/// Where a block may leave the code, and what has been written by then, if it was `before` the block.
fn exits(function: &Function<'_>, blocks: &Blocks, i: usize, before: &Set, own: &Set) -> Vec<(u32, Set)> {
    let block = &blocks.blocks[i];
    if let End::Interpreter = block.end {
        return Vec::new();
    }
    let mut after = before.clone();
    after.add(own);
    let mut exits = vec![(block.start, before.clone()), (block.behind(), after.clone())];
    for next in blocks.next(function, i) {
        exits.push((blocks.blocks[next].start, after.clone()));
    }
    exits
}

impl Written {
    /// Adds what another way to the same exit has written.
    pub fn add(&mut self, other: &Written) {
        self.anywhere.add(&other.anywhere);
        match (&mut self.behind, &other.behind) {
            (Some(behind), Some(other)) => {
                behind.add(other);
            }
            (behind @ None, other) => *behind = other.clone(),
            (Some(_), None) => {}
        }
    }
}
