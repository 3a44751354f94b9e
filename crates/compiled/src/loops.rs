//! Divergent loops as predicated code: some lanes leave the loop before others.
//!
//! Where a warp diverges at the back edge, the lanes that iterate are at the lower program counter and run; the others wait behind
//! the branch, where all reconverge. A group may go back a number of times while another waits (`State::backward`); before that is
//! used up, or the slice, the code is left with two groups.
//!
//! Registers keep their values in lanes that have left. So a register that the loop writes has all lanes while it runs predicated,
//! also if its other lanes follow from a few ([`crate::widths`]), and is dropped at the end: a register that is read behind the
//! loop is varying if the loop may diverge ([`crate::lanes`]).

use std::mem::offset_of;
use std::ops::Range;

use virtual_gpu::jit::{Function, Kind, MOST_BACKWARD, NONE, Slot, State};

use crate::blocks::{Blocks, End, Set, is_compiled};
use crate::if_conversion::PredicatedBlocks;
use crate::values::Misfit;
use crate::writer::Writer;

/// Most operations of a loop: all of them are compiled once more.
const LONGEST: u32 = 64;

/// The head of the loop whose back edge is the branch at `pc`, if there is no other back edge in it and all operations are
/// compiled.
pub fn start_of(function: &Function<'_>, pc: u32) -> Option<u32> {
    let step = function.step(pc);
    let Kind::Branch { target } = step.kind else { return None };
    if step.guard.slot == NONE || target > pc || pc - target >= LONGEST {
        return None;
    }
    let stays = |at: u32| match function.step(at).kind {
        Kind::Branch { target } => target > at && target <= pc + 1,
        Kind::Collective(_) | Kind::Called { whole: true } => false,
        kind => is_compiled(kind),
    };
    (target..pc).all(stays).then_some(target)
}

/// Registers that the loop writes, in ascending order.
pub fn written(function: &Function<'_>, start: u32, pc: u32) -> Vec<Slot> {
    let mut written: Vec<Slot> =
        (start..=pc).flat_map(|pc| function.step(pc).writes).map(|write| write.0).collect();
    written.sort_unstable();
    written.dedup();
    written
}

/// Those among them that something else reads.
pub fn read_elsewhere(function: &Function<'_>, start: u32, pc: u32, written: &[Slot]) -> Vec<Slot> {
    let mut elsewhere = Vec::new();
    for at in function.range().filter(|at| !(start..=pc).contains(at)) {
        let step = function.step(at);
        elsewhere.extend(step.reads.iter().map(|read| read.0));
        elsewhere.extend(step.mentioned);
        elsewhere.push(step.guard.slot);
    }
    elsewhere.retain(|slot| written.binary_search(slot).is_ok());
    elsewhere
}

/// The blocks of a loop.
pub struct Loop {
    blocks: Range<usize>,
    start: u32,
    /// The back edge.
    pc: u32,
}

impl Loop {
    /// The loop that a block ends, in code for converged warps.
    pub fn of(function: &Function<'_>, blocks: &Blocks, number: usize) -> Option<Self> {
        let block = &blocks.blocks[number];
        let End::Branch { .. } = block.end else { return None };
        let pc = block.behind();
        let start = start_of(function, pc).filter(|_| function.is_converged())?;
        let first = blocks.index(start)?;
        let region = |i: usize| blocks.blocks[i].region;
        let is_one = (first..number).all(|i| region(i) == region(number));
        is_one.then_some(Loop { blocks: first..number + 1, start, pc })
    }

    /// Compact registers that have all lanes while the loop runs predicated.
    fn shadowed(&self, w: &Writer<'_>) -> Vec<Slot> {
        let mut written = written(&w.function, self.start, self.pc);
        written.retain(|&slot| w.is_compact(slot));
        written
    }

    /// Writes the predicated loop, from the back edge at which the warp diverges to the reconvergence; `taken` are the lanes that
    /// iterate, some and not all. All registers are settled. `stay` leaves the branch to the interpreter. Side exits may store
    /// the `kept` registers.
    pub fn write(
        &self,
        w: &mut Writer<'_>,
        blocks: &Blocks,
        number: usize,
        (taken, stay, kept): (&str, &str, &Set),
    ) -> Result<(), Misfit> {
        let name = format!("l{number}");
        let length: u32 = self.blocks.clone().map(|i| blocks.blocks[i].whole()).sum();
        let backward = w.set(format_args!("load i32, ptr %backward"));
        let may = w.set(format_args!("icmp ult i32 {backward}, {}", MOST_BACKWARD - 1));
        w.line(format_args!("br i1 {may}, label %{name}_enter, label %{stay}"));
        w.label(&format!("{name}_enter"));
        let backward = w.set(format_args!("add i32 {backward}, 1"));
        w.line(format_args!("store i32 {backward}, ptr %backward"));
        let shadowed = self.shadowed(w);
        w.shadow(&shadowed)?;
        w.line(format_args!("store i32 {taken}, ptr %going"));
        w.line(format_args!("br label %{name}_turn"));
        w.label(&format!("{name}_turn"));
        let steps = w.set(format_args!("load i64, ptr %steps"));
        let last = w.set(format_args!("add i64 {steps}, {length}"));
        // One less than the slice: the warp's next group depends on the groups that there are when the slice expires.
        let fits = w.set(format_args!("icmp ult i64 {last}, %end"));
        let backward = w.set(format_args!("load i32, ptr %backward"));
        let patient = w.set(format_args!("icmp ult i32 {backward}, {}", MOST_BACKWARD - 1));
        let can = w.set(format_args!("and i1 {fits}, {patient}"));
        w.line(format_args!("br i1 {can}, label %{name}_run, label %{name}_leave, !prof !0"));
        w.label(&format!("{name}_run"));
        let going = w.set(format_args!("load i32, ptr %going"));
        w.line(format_args!("store i32 0, ptr %going"));
        let under = PredicatedBlocks { blocks, range: self.blocks.clone(), name: name.clone() };
        under.begin(w, &going);
        under.write(w)?;
        let going = w.set(format_args!("load i32, ptr %going"));
        let some = w.set(format_args!("icmp ne i32 {going}, 0"));
        w.line(format_args!("br i1 {some}, label %{name}_again, label %{name}_done"));
        w.label(&format!("{name}_again"));
        let backward = w.set(format_args!("load i32, ptr %backward"));
        let backward = w.set(format_args!("add i32 {backward}, 1"));
        w.line(format_args!("store i32 {backward}, ptr %backward"));
        w.line(format_args!("br label %{name}_turn"));
        w.label(&format!("{name}_leave"));
        w.end_predicated();
        self.leave(w, &blocks.regions[blocks.blocks[number].region].named, kept, &shadowed)?;
        w.label(&format!("{name}_done"));
        w.end_predicated();
        Ok(())
    }

    /// Leaves the code with two groups: lanes that iterate, and lanes that wait behind the branch.
    fn leave<'s>(
        &self,
        w: &mut Writer<'_>,
        named: impl IntoIterator<Item = &'s Slot>,
        kept: &Set,
        shadowed: &[Slot],
    ) -> Result<(), Misfit> {
        w.unshadow();
        for &slot in named {
            if kept.has(slot)
                && shadowed.binary_search(&slot).is_err()
                && let Some(shape) = w.shape(slot)
            {
                w.keep_slot(slot, shape)?;
            }
        }
        // All lanes of compact registers are stored first, then those that have diverged since.
        w.ask(offset_of!(State, expand), "");
        w.shadow_again(shadowed);
        for &slot in shadowed {
            let shape = w.shape(slot).ok_or(Misfit)?;
            w.keep_slot(slot, shape)?;
        }
        w.unshadow();
        let going = w.set(format_args!("load i32, ptr %going"));
        for (offset, value) in [
            (offset_of!(State, converged), "0".to_owned()),
            (offset_of!(State, diverged), going),
            (offset_of!(State, behind), (self.pc + 1).to_string()),
        ] {
            let place = w.field(offset);
            w.line(format_args!("store i32 {value}, ptr {place}"));
        }
        w.give_back();
        w.line(format_args!("ret i32 {}", self.start));
        Ok(())
    }
}
