//! Which parts of a function run without the interpreter, and which registers are live where.
//!
//! The function is divided into blocks. An operation that only the interpreter can do is a block of its own; all other
//! blocks consist of compiled operations, and end before a branch, or where another block begins. The blocks of a loop form
//! an *island*: between its entries and exits registers need not be in the frame. A block that is in no loop runs once:
//! it is an island by itself. What it reads and writes goes through the frame, which costs a few accesses; larger islands,
//! of all blocks that lead into each other, would have each of their registers loaded and stored at each of their entries
//! and exits. They took LLVM up to six times as long, for kernels that were no faster.
//!
//! Code for warps whose lanes are together has larger ones all the same, with one entry and no way back: a block joins the island
//! that all ways to it come from. Whoever enters it has room for all of its operations, so it is left at its end only, or where
//! the group splits.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use virtual_gpu::jit::{CollectiveKind, Function, Guard, Instruction, Kind, NONE, Slot};

/// Maximum operations per block, so that it fits into a warp's share of operations.
const LONGEST: u32 = 128;
/// The same of an island that blocks have joined.
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
    pub island: usize,
    /// Registers live at its start.
    pub alive: Set,
    /// Registers live at its branch.
    pub alive_at_branch: Set,
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

#[derive(Debug, Clone)]
pub struct Island {
    /// Registers its blocks name.
    pub named: BTreeSet<Slot>,
    /// Whether no way leads back to a block of it.
    straight: bool,
    /// Its first block, the others, and the operations of all.
    head: usize,
    joined: usize,
    length: u32,
}

pub struct Blocks {
    pub blocks: Vec<Block>,
    pub islands: Vec<Island>,
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
                island: i,
                alive: none.clone(),
                alive_at_branch: none,
            });
        }
        let mut made = Blocks { blocks, islands: Vec::new(), shapes: shapes(function, &starts)? };
        made.find_alive(function);
        made.find_islands(function);
        if function.is_converged() {
            made.join_islands(function);
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

    /// Where a block leads to, and whether it may also fall through.
    pub fn next(&self, function: &Function<'_>, i: usize) -> Vec<usize> {
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

    /// Where a block leads to without the interpreter.
    fn onwards(&self, function: &Function<'_>, i: usize) -> Vec<usize> {
        match self.blocks[i].end {
            End::Interpreter => Vec::new(),
            _ => {
                let mut next = self.next(function, i);
                next.retain(|&next| !matches!(self.blocks[next].end, End::Interpreter));
                next
            }
        }
    }

    /// Where a block leads to on its island.
    pub fn ways(&self, function: &Function<'_>, i: usize) -> Vec<usize> {
        let mut ways = self.onwards(function, i);
        ways.retain(|&next| self.blocks[next].island == self.blocks[i].island);
        ways
    }

    /// Whether a block is an island by itself, and no way leads back to it there.
    pub fn is_alone(&self, i: usize) -> bool {
        self.is_straight(i) && self.islands[self.blocks[i].island].joined == 0
    }

    /// Whether no way leads back to a block of the same island.
    pub fn is_straight(&self, i: usize) -> bool {
        self.islands[self.blocks[i].island].straight
    }

    /// Whether an island may be entered at a block of it.
    pub fn is_entry(&self, i: usize) -> bool {
        let island = &self.islands[self.blocks[i].island];
        !island.straight || island.head == i
    }

    /// Operations for which whoever enters at a block must have room.
    pub fn room(&self, i: usize) -> u32 {
        let island = &self.islands[self.blocks[i].island];
        if island.straight { island.length } else { self.blocks[i].whole() }
    }

    /// Registers live behind a block's operations.
    pub fn alive_after(&self, function: &Function<'_>, i: usize) -> Set {
        let mut alive = self.blocks[i].alive_at_branch.clone();
        for next in self.next(function, i) {
            alive.add(&self.blocks[next].alive);
        }
        alive
    }

    fn find_alive(&mut self, function: &Function<'_>) {
        let count = self.blocks.len();
        let next: Vec<Vec<usize>> = (0..count).map(|i| self.next(function, i)).collect();
        let everywhere = shuffled(function);
        let mut changed = true;
        while changed {
            changed = false;
            for i in (0..count).rev() {
                let mut alive = everywhere.clone();
                for &next in &next[i] {
                    alive.add(&self.blocks[next].alive);
                }
                let block = &mut self.blocks[i];
                if let End::Branch { guard, .. } = block.end {
                    alive.insert(guard.slot);
                    block.alive_at_branch.add(&alive);
                }
                let last = if let End::Interpreter = block.end { block.start + 1 } else { block.behind() };
                for pc in (block.start..last).rev() {
                    pass(&function.step(pc), &mut alive);
                }
                alive.add(&everywhere);
                changed |= block.alive.add(&alive);
            }
        }
    }

    /// Makes an island of each loop, and of each block that is in none.
    fn find_islands(&mut self, function: &Function<'_>) {
        let onwards: Vec<Vec<usize>> = (0..self.blocks.len()).map(|i| self.onwards(function, i)).collect();
        let mut numbers = HashMap::new();
        for (i, first) in loops(&onwards).into_iter().enumerate() {
            let next = numbers.len();
            let number = *numbers.entry(first).or_insert(next);
            let new = Island { named: BTreeSet::new(), straight: true, head: i, joined: 0, length: 0 };
            self.islands.resize(numbers.len(), new);
            let (block, island) = (&mut self.blocks[i], &mut self.islands[number]);
            block.island = number;
            island.straight &= first == i && !onwards[i].contains(&i);
            island.length += block.whole();
            if let End::Branch { guard, .. } = block.end
                && guard.slot != NONE
            {
                island.named.insert(guard.slot);
            }
            for pc in block.start..block.behind() {
                let step = function.step(pc);
                let guard = Some(step.guard.slot).filter(|&slot| slot != NONE);
                island
                    .named
                    .extend(step.reads.iter().chain(step.writes).map(|touched| touched.0).chain(guard));
            }
        }
    }

    /// Has straight blocks join the island that all ways to them come from.
    fn join_islands(&mut self, function: &Function<'_>) {
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); self.blocks.len()];
        for i in 0..self.blocks.len() {
            self.next(function, i).into_iter().for_each(|next| before[next].push(i));
        }
        for i in 1..self.blocks.len() {
            let (own, whole) = (self.blocks[i].island, self.blocks[i].whole());
            let goes_on = |from: usize| from < i && !matches!(self.blocks[from].end, End::Interpreter);
            let Some(&first) = before[i].first() else { continue };
            let other = self.blocks[first].island;
            let joins = !matches!(self.blocks[i].end, End::Interpreter)
                && self.is_alone(i)
                && self.is_straight(first)
                && before[i].iter().all(|&from| goes_on(from) && self.blocks[from].island == other)
                && self.islands[other].length + whole <= LONGEST_JOINED;
            if joins {
                let named = std::mem::take(&mut self.islands[own].named);
                let island = &mut self.islands[other];
                island.named.extend(named);
                island.joined += 1;
                island.length += whole;
                self.blocks[i].island = other;
            }
        }
    }
}

/// The first block of the loop that each block is in, or the block itself: from each block of a loop a way leads to each
/// other.
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
fn pass(step: &Instruction<'_>, alive: &mut Set) {
    // An operation that a guard may skip does not certainly write.
    if step.guard.slot == NONE {
        step.writes.iter().for_each(|write| alive.remove(write.0));
    } else {
        alive.insert(step.guard.slot);
    }
    step.reads.iter().for_each(|read| alive.insert(read.0));
    step.mentioned.iter().for_each(|&slot| alive.insert(slot));
}

/// What lanes hand each other. A shuffle may name a lane that is elsewhere, and gets what that lane's register holds.
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
            // Whether all lanes are here is asked where a block begins.
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
