//! Basic blocks of a function, their regions, and live registers.
//!
//! An operation that only the interpreter can do is a block of its own. All other blocks consist of compiled operations, and end
//! before a branch, or where another block begins. The blocks of a loop, a strongly connected component, are a *region*: between
//! its entries and side exits registers are LLVM values. A block in no loop is a region by itself: it reads and writes the frame,
//! which costs a few accesses. Larger regions would load and store each of their registers at each entry and exit; they took
//! LLVM up to six times as long, for kernels that were no faster.
//!
//! Code for converged warps has larger regions, with one entry and without a cycle: a block joins the region of all its
//! predecessors. An entry needs room for all operations of such a region, so it is left at its end only, or where the group diverges.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use virtual_gpu::jit::{CollectiveKind, Function, Guard, Instruction, Kind, NONE, Slot};

/// Most operations of a block, so that it fits into a slice.
const LONGEST: u32 = 128;
/// Most operations of a region that blocks have joined.
const LONGEST_JOINED: u32 = 256;

/// How a register is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A lane mask.
    Predicate,
    /// 32 lanes of 32 bits.
    Row,
    /// 32 lanes of 64 bits.
    Pair,
}

impl Shape {
    /// The shape of a register with this many rows; `None` if it stays in the frame.
    pub fn of(rows: u32) -> Option<Self> {
        match rows {
            0 => Some(Shape::Predicate),
            1 => Some(Shape::Row),
            2 => Some(Shape::Pair),
            _ => None,
        }
    }
}

/// How a block ends.
#[derive(Debug, Clone, Copy)]
pub enum End {
    /// Falls through to the next block.
    Next,
    /// A branch, after the block's operations.
    Branch { guard: Guard, target: u32 },
    /// The block is one operation for the interpreter.
    Interpreter,
}

#[derive(Debug)]
pub struct Block {
    pub start: u32,
    /// Compiled operations, without the branch.
    pub body: u32,
    pub end: End,
    pub region: usize,
    /// Registers live at its start.
    pub live: Set,
    /// Registers live at its branch.
    pub live_at_branch: Set,
}

impl Block {
    /// The operation after those of its body.
    pub fn behind(&self) -> u32 {
        self.start + self.body
    }

    /// Its operations, the branch among them.
    pub fn whole(&self) -> u32 {
        self.body + u32::from(matches!(self.end, End::Branch { .. }))
    }
}

/// Blocks that run without the interpreter between an entry and a side exit.
#[derive(Debug, Clone)]
pub struct Region {
    /// Registers that its blocks name.
    pub named: BTreeSet<Slot>,
    /// It has no cycle.
    straight: bool,
    /// Its first block, the others, and the operations of all.
    head: usize,
    joined: usize,
    length: u32,
}

pub struct Blocks {
    pub blocks: Vec<Block>,
    pub regions: Vec<Region>,
    /// All registers of compiled operations, except those that stay in the frame.
    pub shapes: BTreeMap<Slot, Shape>,
}

/// A set of registers, identified by their first row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Set(Box<[u64]>);

impl Set {
    pub fn none(rows: u32) -> Self {
        Set(vec![0; rows.div_ceil(64) as usize].into())
    }

    pub fn has(&self, slot: Slot) -> bool {
        self.0.get(slot as usize / 64).is_some_and(|word| word >> (slot % 64) & 1 != 0)
    }

    pub fn insert(&mut self, slot: Slot) {
        if let Some(word) = self.0.get_mut(slot as usize / 64) {
            *word |= 1 << (slot % 64);
        }
    }

    fn remove(&mut self, slot: Slot) {
        if let Some(word) = self.0.get_mut(slot as usize / 64) {
            *word &= !(1 << (slot % 64));
        }
    }

    /// Adds others; whether some were new.
    pub fn add(&mut self, others: &Set) -> bool {
        let mut grown = false;
        for (word, other) in self.0.iter_mut().zip(&others.0) {
            grown |= other & !*word != 0;
            *word |= other;
        }
        grown
    }
}

/// Whether an operation is compiled, or left to the interpreter but called from the code.
pub fn is_compiled(kind: Kind<'_>) -> bool {
    matches!(
        kind,
        Kind::Arithmetic(_)
            | Kind::Load(_)
            | Kind::Store(_)
            | Kind::Parameter(_)
            | Kind::Atomic(_)
            | Kind::Collective(_)
            | Kind::Fence
            | Kind::ActiveMask { .. }
            | Kind::Called { .. }
            | Kind::Nothing
    )
}

impl Blocks {
    /// The blocks of a function; `None` if a register's rows are used in more than one way.
    pub fn of(function: &Function<'_>) -> Option<Self> {
        let range = function.range();
        let starts = leaders(function);
        let mut blocks = Vec::with_capacity(starts.len());
        for (i, &start) in starts.iter().enumerate() {
            let end = starts.get(i + 1).copied().unwrap_or(range.end);
            let last = function.step(end - 1);
            let (body, kind) = match last.kind {
                Kind::Branch { target } => (end - 1 - start, End::Branch { guard: last.guard, target }),
                kind if is_compiled(kind) => (end - start, End::Next),
                _ => (0, End::Interpreter),
            };
            let none = Set::none(function.rows());
            blocks.push(Block {
                start,
                body,
                end: kind,
                region: i,
                live: none.clone(),
                live_at_branch: none,
            });
        }
        let mut made = Blocks { blocks, regions: Vec::new(), shapes: shapes(function, &starts)? };
        made.find_live(function);
        made.find_regions(function);
        if function.is_converged() {
            made.join_regions(function);
        }
        Some(made)
    }

    /// The block that starts at `pc`.
    pub fn at(&self, pc: u32) -> Option<&Block> {
        self.index(pc).map(|i| &self.blocks[i])
    }

    pub fn index(&self, pc: u32) -> Option<usize> {
        self.blocks.binary_search_by_key(&pc, |block| block.start).ok()
    }

    /// The successors of a block.
    pub fn successors(&self, function: &Function<'_>, i: usize) -> Vec<usize> {
        let block = &self.blocks[i];
        let step = function.step(block.behind().min(function.range().end - 1));
        let always = step.guard.slot == NONE;
        let mut next = Vec::new();
        let mut falls = true;
        match (block.end, step.kind) {
            (End::Branch { guard, target }, _) => {
                next.extend(self.index(target));
                falls = guard.slot != NONE;
            }
            (End::Interpreter, Kind::Table(targets)) => {
                next.extend(targets.iter().filter_map(|&target| self.index(target)));
                falls = !always;
            }
            (End::Interpreter, Kind::End) => falls = !always,
            _ => {}
        }
        if falls && i + 1 < self.blocks.len() {
            next.push(i + 1);
        }
        next
    }

    /// The successors that are compiled.
    fn compiled_successors(&self, function: &Function<'_>, i: usize) -> Vec<usize> {
        match self.blocks[i].end {
            End::Interpreter => Vec::new(),
            _ => {
                let mut next = self.successors(function, i);
                next.retain(|&next| !matches!(self.blocks[next].end, End::Interpreter));
                next
            }
        }
    }

    /// The successors in its region.
    pub fn successors_in_region(&self, function: &Function<'_>, i: usize) -> Vec<usize> {
        let mut successors = self.compiled_successors(function, i);
        successors.retain(|&next| self.blocks[next].region == self.blocks[i].region);
        successors
    }

    /// Whether a block is a region by itself, without a cycle.
    pub fn is_alone(&self, i: usize) -> bool {
        self.is_straight(i) && self.regions[self.blocks[i].region].joined == 0
    }

    /// Whether the region of a block has no cycle.
    pub fn is_straight(&self, i: usize) -> bool {
        self.regions[self.blocks[i].region].straight
    }

    /// Whether code may be entered at a block.
    pub fn is_entry(&self, i: usize) -> bool {
        let region = &self.regions[self.blocks[i].region];
        !region.straight || region.head == i
    }

    /// Operations that a slice must have room for to enter at a block.
    pub fn room(&self, i: usize) -> u32 {
        let region = &self.regions[self.blocks[i].region];
        if region.straight { region.length } else { self.blocks[i].whole() }
    }

    /// Registers live behind a block's operations.
    pub fn live_after(&self, function: &Function<'_>, i: usize) -> Set {
        let mut live = self.blocks[i].live_at_branch.clone();
        for next in self.successors(function, i) {
            live.add(&self.blocks[next].live);
        }
        live
    }

    fn find_live(&mut self, function: &Function<'_>) {
        let count = self.blocks.len();
        let next: Vec<Vec<usize>> = (0..count).map(|i| self.successors(function, i)).collect();
        let everywhere = shuffled(function);
        let mut changed = true;
        while changed {
            changed = false;
            for i in (0..count).rev() {
                let mut live = everywhere.clone();
                for &next in &next[i] {
                    live.add(&self.blocks[next].live);
                }
                let block = &mut self.blocks[i];
                if let End::Branch { guard, .. } = block.end {
                    live.insert(guard.slot);
                    block.live_at_branch.add(&live);
                }
                let last = if let End::Interpreter = block.end { block.start + 1 } else { block.behind() };
                for pc in (block.start..last).rev() {
                    pass(&function.step(pc), &mut live);
                }
                live.add(&everywhere);
                changed |= block.live.add(&live);
            }
        }
    }

    /// Makes a region of each loop, and of each block that is in none.
    fn find_regions(&mut self, function: &Function<'_>) {
        let onwards: Vec<Vec<usize>> =
            (0..self.blocks.len()).map(|i| self.compiled_successors(function, i)).collect();
        let mut numbers = HashMap::new();
        for (i, first) in loops(&onwards).into_iter().enumerate() {
            let next = numbers.len();
            let number = *numbers.entry(first).or_insert(next);
            let new = Region { named: BTreeSet::new(), straight: true, head: i, joined: 0, length: 0 };
            self.regions.resize(numbers.len(), new);
            let (block, region) = (&mut self.blocks[i], &mut self.regions[number]);
            block.region = number;
            region.straight &= first == i && !onwards[i].contains(&i);
            region.length += block.whole();
            if let End::Branch { guard, .. } = block.end
                && guard.slot != NONE
            {
                region.named.insert(guard.slot);
            }
            for pc in block.start..block.behind() {
                let step = function.step(pc);
                let guard = Some(step.guard.slot).filter(|&slot| slot != NONE);
                region
                    .named
                    .extend(step.reads.iter().chain(step.writes).map(|touched| touched.0).chain(guard));
            }
        }
    }

    /// Has straight blocks join the region of all their predecessors.
    fn join_regions(&mut self, function: &Function<'_>) {
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); self.blocks.len()];
        for i in 0..self.blocks.len() {
            self.successors(function, i).into_iter().for_each(|next| before[next].push(i));
        }
        for i in 1..self.blocks.len() {
            let (own, whole) = (self.blocks[i].region, self.blocks[i].whole());
            let goes_on = |from: usize| from < i && !matches!(self.blocks[from].end, End::Interpreter);
            let Some(&first) = before[i].first() else { continue };
            let other = self.blocks[first].region;
            let joins = !matches!(self.blocks[i].end, End::Interpreter)
                && self.is_alone(i)
                && self.is_straight(first)
                && before[i].iter().all(|&from| goes_on(from) && self.blocks[from].region == other)
                && self.regions[other].length + whole <= LONGEST_JOINED;
            if joins {
                let named = std::mem::take(&mut self.regions[own].named);
                let region = &mut self.regions[other];
                region.named.extend(named);
                region.joined += 1;
                region.length += whole;
                self.blocks[i].region = other;
            }
        }
    }
}

/// The first block of the strongly connected component of each block.
fn loops(onwards: &[Vec<usize>]) -> Vec<usize> {
    let reached = |from: usize| {
        let mut reached = vec![false; onwards.len()];
        let mut open = vec![from];
        while let Some(i) = open.pop() {
            for &next in &onwards[i] {
                if !std::mem::replace(&mut reached[next], true) {
                    open.push(next);
                }
            }
        }
        reached
    };
    let reached: Vec<Vec<bool>> = (0..onwards.len()).map(reached).collect();
    (0..onwards.len()).map(|i| (0..i).find(|&j| reached[i][j] && reached[j][i]).unwrap_or(i)).collect()
}

/// From the registers live after an operation to those live before it.
fn pass(step: &Instruction<'_>, live: &mut Set) {
    // An operation that a guard may skip does not certainly write.
    if step.guard.slot == NONE {
        step.writes.iter().for_each(|write| live.remove(write.0));
    } else {
        live.insert(step.guard.slot);
    }
    step.reads.iter().for_each(|read| live.insert(read.0));
    step.mentioned.iter().for_each(|&slot| live.insert(slot));
}

/// Sources of shuffles. They are live everywhere: a shuffle may read the register of a lane that is elsewhere.
fn shuffled(function: &Function<'_>) -> Set {
    let mut found = Set::none(function.rows());
    for pc in function.range() {
        if let Kind::Collective(op) = function.step(pc).kind
            && let CollectiveKind::Shuffle(_) = op.kind
        {
            found.insert(op.a);
        }
    }
    found
}

/// Where blocks start, in ascending order.
fn leaders(function: &Function<'_>) -> Vec<u32> {
    let range = function.range();
    let mut starts = BTreeSet::from([range.start]);
    for pc in range.clone() {
        let kind = function.step(pc).kind;
        match kind {
            Kind::Branch { target } => starts.extend([target, pc + 1]),
            Kind::Table(targets) => {
                starts.extend([pc, pc + 1]);
                starts.extend(targets);
            }
            // A block tests at its start whether all lanes are here.
            Kind::Collective(_) => {
                starts.insert(pc);
            }
            kind if !is_compiled(kind) => starts.extend([pc, pc + 1]),
            _ => {}
        }
    }
    let mut starts: Vec<u32> = starts.into_iter().filter(|start| range.contains(start)).collect();
    let mut more = Vec::new();
    for (i, &start) in starts.iter().enumerate() {
        let end = starts.get(i + 1).copied().unwrap_or(range.end);
        more.extend((start..end).step_by(LONGEST as usize).skip(1));
    }
    starts.extend(more);
    starts.sort_unstable();
    starts
}

fn shapes(function: &Function<'_>, starts: &[u32]) -> Option<BTreeMap<Slot, Shape>> {
    let mut rows: BTreeMap<Slot, u32> = BTreeMap::new();
    let mut same = |slot: Slot, is: u32| *rows.entry(slot).or_insert(is) == is;
    for pc in function.range() {
        let step = function.step(pc);
        if !is_compiled(step.kind) && !matches!(step.kind, Kind::Branch { .. }) {
            debug_assert!(starts.binary_search(&pc).is_ok());
            continue;
        }
        let guard = Some((step.guard.slot, 0)).filter(|guard| guard.0 != NONE);
        for (slot, is) in step.reads.iter().chain(step.writes).copied().chain(guard) {
            if !same(slot, is) {
                return None;
            }
        }
    }
    let mut free = 0;
    for (&slot, &is) in &rows {
        if slot < free {
            return None;
        }
        free = slot + is.max(1);
    }
    let kept = rows.into_iter().filter(|&(slot, is)| function.constant(slot, is).is_none());
    Some(kept.filter_map(|(slot, is)| Some((slot, Shape::of(is)?))).collect())
}
