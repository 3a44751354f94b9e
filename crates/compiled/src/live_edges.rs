//! Live-ins and live-outs of regions: registers that are loaded from the frame where code is entered, and stored where it is left.
//!
//! Code resumes behind an operation of the interpreter, such as a barrier in a loop, again and again. So such an entry loads only
//! registers that may be read from there on, and a side exit after it stores only those that may have been written since; what a loop
//! does not change stays in the frame. Any other entry, where a slice had expired or lanes reconverged, moves all live registers.

use std::collections::HashMap;

use virtual_gpu::jit::{Function, Kind, NONE};

use crate::blocks::{Blocks, End, Set};

/// How code is entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    General,
    /// Behind an operation of the interpreter.
    Resumed,
}

/// Registers at the edges of a block.
#[derive(Debug)]
struct BlockEdges {
    /// Written by its operations.
    written: Set,
    /// Possibly written between an entry of either kind and this block; `None` if no path leads here from such an entry.
    before: [Option<Set>; 2],
    /// Possibly read from here on, or stored by a side exit after a resumption.
    needed: Set,
    /// It stands behind an operation of the interpreter.
    resumes: bool,
}

/// The blocks of a function, by number.
#[derive(Debug)]
pub struct LiveEdges(Vec<BlockEdges>);

/// Registers that a side exit stores, by how the code was entered.
#[derive(Debug, Clone)]
pub struct LiveOuts {
    pub general: Set,
    /// `None` if no path leads here from such an entry.
    pub resumed: Option<Set>,
}

impl LiveEdges {
    pub fn of(function: &Function<'_>, blocks: &Blocks) -> Self {
        let rows = function.rows();
        let count = blocks.blocks.len();
        let successors: Vec<Vec<usize>> =
            (0..count).map(|i| blocks.successors_in_region(function, i)).collect();
        let mut edges: Vec<BlockEdges> = (0..count)
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
                let resumes = i > 0
                    && matches!(blocks.blocks[i - 1].end, End::Interpreter)
                    && !matches!(function.step(block.start - 1).kind, Kind::End | Kind::Table(_));
                let before = [Some(Set::none(rows)), resumes.then(|| Set::none(rows))];
                BlockEdges { written, before, needed: read, resumes }
            })
            .collect();
        let mut changed = true;
        while changed {
            changed = false;
            for i in 0..count {
                for entry in 0..2 {
                    let Some(mut after) = edges[i].before[entry].clone() else { continue };
                    after.add(&edges[i].written);
                    for &next in &successors[i] {
                        match &mut edges[next].before[entry] {
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
        // All that leave a region at one place share a side exit, which stores what any of them may have written.
        let mut leaving: HashMap<(usize, u32), Set> = HashMap::new();
        let exits: Vec<Vec<(u32, Set)>> = (0..count)
            .map(|i| match &edges[i].before[Entry::Resumed as usize] {
                Some(before) => side_exits(function, blocks, i, before, &edges[i].written),
                None => Vec::new(),
            })
            .collect();
        for (block, exits) in blocks.blocks.iter().zip(&exits) {
            for (pc, written) in exits {
                leaving.entry((block.region, *pc)).or_insert_with(|| Set::none(rows)).add(written);
            }
        }
        for ((block, edges), exits) in blocks.blocks.iter().zip(&mut edges).zip(&exits) {
            for (pc, _) in exits {
                edges.needed.add(&leaving[&(block.region, *pc)]);
            }
        }
        changed = true;
        while changed {
            changed = false;
            for i in (0..count).rev() {
                for &next in &successors[i] {
                    let needed = edges[next].needed.clone();
                    changed |= edges[i].needed.add(&needed);
                }
            }
        }
        LiveEdges(edges)
    }

    /// How code is entered at a block.
    pub fn entry(&self, block: usize) -> Entry {
        if self.0[block].resumes { Entry::Resumed } else { Entry::General }
    }

    /// Whether an entry at a block loads a register that is live there.
    pub fn loads(&self, block: usize, slot: u32) -> bool {
        !self.0[block].resumes || self.0[block].needed.has(slot)
    }

    /// Live-outs before a block, or `after` its operations.
    pub fn written(&self, block: usize, after: bool) -> LiveOuts {
        let edges = &self.0[block];
        let of = |entry: Entry| {
            let mut written = edges.before[entry as usize].clone()?;
            if after {
                written.add(&edges.written);
            }
            Some(written)
        };
        let general = of(Entry::General).unwrap_or_else(|| edges.written.clone());
        LiveOuts { general, resumed: of(Entry::Resumed) }
    }
}

/// The side exits of a block, with the registers written by then, if those of `before` were written before the block.
fn side_exits(
    function: &Function<'_>,
    blocks: &Blocks,
    i: usize,
    before: &Set,
    own: &Set,
) -> Vec<(u32, Set)> {
    let block = &blocks.blocks[i];
    if let End::Interpreter = block.end {
        return Vec::new();
    }
    let mut after = before.clone();
    after.add(own);
    let mut exits = vec![(block.start, before.clone()), (block.behind(), after.clone())];
    for next in blocks.successors(function, i) {
        exits.push((blocks.blocks[next].start, after.clone()));
    }
    exits
}

impl LiveOuts {
    /// Adds another edge to the same side exit.
    pub fn add(&mut self, other: &LiveOuts) {
        self.general.add(&other.general);
        match (&mut self.resumed, &other.resumed) {
            (Some(resumed), Some(other)) => {
                resumed.add(other);
            }
            (resumed @ None, other) => *resumed = other.clone(),
            (Some(_), None) => {}
        }
    }
}
