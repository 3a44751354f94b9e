//! If-conversion: short forward branches at which a group diverges, as predicated code up to the point of reconvergence.
//!
//! Of several groups the one at the lowest program counter runs first, up to the next one, where they merge. If all paths from
//! the branch go forward to one end, the lanes of a block are therefore those of the block before and all that have jumped to it,
//! each block runs once at most, and at the end all have reconverged. So the blocks run in their order, each under a mask, or
//! not at all if no lane is left.
//!
//! The warp stays as the interpreter leaves it: groups that split off merge into the one that they come from; no slice ends, since
//! the code is entered only if it ends before the slice and before the place where another group reconverges; forward branches
//! do not count against the spin limit.

use std::mem::offset_of;
use std::ops::Range;

use virtual_gpu::jit::{Function, Kind, NONE, Slot, State};

use crate::blocks::{Blocks, End, Set, is_compiled};
use crate::families;
use crate::function::operation;
use crate::values::{BITS, Misfit};
use crate::writer::{Active, Writer};

/// Most operations: all of them are compiled once more.
const LONGEST: u32 = 40;

/// The blocks between a branch and the reconvergence of its lanes.
#[derive(Debug)]
pub struct IfConversion {
    pub blocks: Range<usize>,
    /// The point of reconvergence.
    pub end: u32,
}

/// Registers that the blocks name.
struct Named {
    all: Vec<Slot>,
    written: Vec<Slot>,
}

/// The point of reconvergence of the branch at `pc`, if all operations before it are compiled.
pub fn end_of(function: &Function<'_>, pc: u32) -> Option<u32> {
    let step = function.step(pc);
    let Kind::Branch { target: mut end } = step.kind else { return None };
    if step.guard.slot == NONE || end <= pc {
        return None;
    }
    let mut at = pc + 1;
    while at < end {
        if end - at > LONGEST {
            return None;
        }
        match function.step(at).kind {
            Kind::Branch { target } if target > at => end = end.max(target),
            Kind::Collective(_) | Kind::Called { whole: true } | Kind::Branch { .. } => return None,
            kind if is_compiled(kind) => {}
            _ => return None,
        }
        at += 1;
    }
    (end - pc - 1 <= LONGEST).then_some(end)
}

impl IfConversion {
    /// Of the branch at the end of a block.
    pub fn of(function: &Function<'_>, blocks: &Blocks, number: usize) -> Option<IfConversion> {
        let block = &blocks.blocks[number];
        let End::Branch { .. } = block.end else { return None };
        let end = end_of(function, block.behind())?;
        let last = blocks.index(end)?;
        let found = IfConversion { blocks: number + 1..last, end };
        // In a loop, all paths from the branch lead to the end, so the end is in the loop, too.
        let stays = |mut blocks_: Range<usize>| {
            blocks_.all(|i| blocks.blocks[i].region == blocks.blocks[number].region)
        };
        let may_end_elsewhere = blocks.is_straight(number);
        let fits = blocks.is_alone(number)
            || stays(found.blocks.clone()) && (may_end_elsewhere || stays(last..last + 1));
        fits.then_some(found)
    }

    /// Most operations that may run.
    fn length(&self, blocks: &Blocks) -> u32 {
        self.blocks.clone().map(|i| blocks.blocks[i].whole()).sum()
    }

    fn named(&self, w: &Writer<'_>, blocks: &Blocks) -> Named {
        let (mut all, mut written) = (Vec::new(), Vec::new());
        for i in self.blocks.clone() {
            let block = &blocks.blocks[i];
            for pc in block.start..block.start + block.whole() {
                let step = w.function.step(pc);
                all.extend(step.reads.iter().map(|read| read.0));
                all.extend(Some(step.guard.slot).filter(|&slot| slot != NONE));
                written.extend(step.writes.iter().map(|write| write.0));
            }
        }
        all.extend(&written);
        for slots in [&mut all, &mut written] {
            slots.sort_unstable();
            slots.dedup();
            slots.retain(|&slot| w.shape(slot).is_some());
        }
        Named { all, written }
    }

    /// Writes the predicated code, from the branch of a block on; `taken` are the group's lanes that branch, some and not all. All
    /// registers are settled. Without room in the slice, `stay` goes on.
    pub fn write(
        &self,
        w: &mut Writer<'_>,
        blocks: &Blocks,
        number: usize,
        taken: &str,
        stay: &str,
    ) -> Result<(), Misfit> {
        let End::Branch { target, .. } = blocks.blocks[number].end else { return Err(Misfit) };
        let enter = w.name("enter");
        let steps = w.set(format_args!("load i64, ptr %steps"));
        let last = w.set(format_args!("add i64 {steps}, {}", self.length(blocks)));
        // One less than the slice: the warp's next group depends on the groups that there are when the slice expires.
        let fits = w.set(format_args!("icmp ult i64 {last}, %end"));
        let apart = w.set(format_args!("icmp ule i32 {}, %reconverge", self.end));
        let mut can = w.set(format_args!("and i1 {fits}, {apart}"));
        if !w.function.is_converged() {
            let place = w.field(offset_of!(State, may_diverge));
            let may_diverge = w.set(format_args!("load i32, ptr {place}"));
            let may_diverge = w.set(format_args!("icmp ne i32 {may_diverge}, 0"));
            can = w.set(format_args!("and i1 {can}, {may_diverge}"));
        }
        w.line(format_args!("br i1 {can}, label %{enter}, label %{stay}, !prof !0"));
        w.label(&enter);
        let live = blocks.live_after(&w.function, number);
        let named = self.named(w, blocks);
        self.fetch(w, &named, &live, blocks.is_alone(number));
        let passed = w.set(format_args!("xor i32 {taken}, %lanes"));
        let under = PredicatedBlocks { blocks, range: self.blocks.clone(), name: format!("m{number}") };
        under.begin(w, &passed);
        under.send(w, target, taken);
        under.write(w)?;
        w.end_predicated();
        if blocks.is_alone(number) {
            for &slot in named.written.iter().filter(|&&slot| self.is_live(blocks, slot)) {
                if let Some(shape) = w.shape(slot) {
                    w.keep_slot(slot, shape)?;
                }
            }
        }
        Ok(())
    }

    /// Whether a register is live at the end.
    fn is_live(&self, blocks: &Blocks, slot: Slot) -> bool {
        blocks.at(self.end).is_none_or(|block| block.live.has(slot))
    }

    /// Initialises the variables of registers. Those that are not live yet are zero: a predicated write keeps the other lanes.
    fn fetch(&self, w: &mut Writer<'_>, named: &Named, live: &Set, from_frame: bool) {
        for &slot in &named.all {
            let Some(shape) = w.shape(slot).filter(|_| !w.fixed.contains_key(&slot)) else { continue };
            let ty = w.kept_type(slot, shape);
            let value = match live.has(slot) {
                true if !from_frame => continue,
                true => w.load_from_frame(slot, shape),
                false if ty == "i32" => "0".to_owned(),
                false => "zeroinitializer".to_owned(),
            };
            w.line(format_args!("store {ty} {value}, ptr %r{slot}"));
        }
    }
}

/// Blocks that run one after the other, each under the mask of the lanes that come to it.
pub struct PredicatedBlocks<'b> {
    pub blocks: &'b Blocks,
    pub range: Range<usize>,
    /// The prefix of their labels.
    pub name: String,
}

impl PredicatedBlocks<'_> {
    /// Starts with these lanes at the first block, and none at the others.
    pub fn begin(&self, w: &mut Writer<'_>, lanes: &str) {
        for i in self.range.clone().skip(1) {
            w.line(format_args!("store i32 0, ptr %waiting{i}"));
        }
        w.line(format_args!("store i32 {lanes}, ptr %passing"));
    }

    /// Has lanes jump to the block that starts at `to`, if that is one of these.
    pub fn send(&self, w: &mut Writer<'_>, to: u32, lanes: &str) {
        if let Some(i) = self.blocks.index(to)
            && self.range.contains(&i)
        {
            let waiting = w.set(format_args!("load i32, ptr %waiting{i}"));
            let waiting = w.set(format_args!("or i32 {waiting}, {lanes}"));
            w.line(format_args!("store i32 {waiting}, ptr %waiting{i}"));
        }
    }

    pub fn write(&self, w: &mut Writer<'_>) -> Result<(), Misfit> {
        for i in self.range.clone() {
            let block = &self.blocks.blocks[i];
            let mut mask = w.set(format_args!("load i32, ptr %passing"));
            if i != self.range.start {
                let waiting = w.set(format_args!("load i32, ptr %waiting{i}"));
                mask = w.set(format_args!("or i32 {mask}, {waiting}"));
            }
            let (run, next) = (w.name("run"), format!("{}_{}", self.name, block.start + block.whole()));
            let some = w.set(format_args!("icmp ne i32 {mask}, 0"));
            w.line(format_args!("br i1 {some}, label %{run}, label %{next}"));
            w.label(&run);
            let lanes = w.set(format_args!("bitcast i32 {mask} to {BITS}"));
            w.begin_predicated(Active { mask: mask.clone(), lanes });
            let steps = w.set(format_args!("load i64, ptr %steps"));
            let steps = w.set(format_args!("add i64 {steps}, {}", block.whole()));
            w.line(format_args!("store i64 {steps}, ptr %steps"));
            let families = families::families(w, block.start, block.behind());
            for pc in block.start..block.behind() {
                operation(w, pc, families.get(&pc).copied())?;
            }
            if let End::Branch { guard, target } = block.end {
                w.guard(guard)?;
                let jumps = w.mask();
                let passes = w.set(format_args!("xor i32 {jumps}, {mask}"));
                w.line(format_args!("store i32 {passes}, ptr %passing"));
                if target <= block.start + block.body {
                    w.line(format_args!("store i32 {jumps}, ptr %going"));
                } else {
                    self.send(w, target, &jumps);
                }
            } else {
                w.line(format_args!("store i32 {mask}, ptr %passing"));
            }
            w.settle()?;
            w.count_run(block.start..block.start + block.whole());
            w.line(format_args!("br label %{next}"));
            w.label(&next);
        }
        Ok(())
    }
}

/// Declares the masks.
pub fn declare(w: &mut Writer<'_>, blocks: &Blocks) {
    w.line(format_args!("%passing = alloca i32"));
    w.line(format_args!("%going = alloca i32"));
    for i in 0..blocks.blocks.len() {
        w.line(format_args!("%waiting{i} = alloca i32"));
    }
}
