//! A function as LLVM IR: entries and exits, blocks, and the branches between them.

use std::collections::BTreeSet;
use std::mem::offset_of;

use virtual_gpu::stretch::{Function, Kind, NONE, State};

use crate::blocks::{Block, Blocks, End};
use crate::memory::Family;
use crate::values::{Misfit, Writer, type_of};
use crate::{arithmetic, memory};

/// The IR of a function.
pub struct Made {
    pub text: String,
    /// The number of operations in the block that may be entered at each program counter.
    pub entries: Box<[u32]>,
    pub sites: usize,
}

/// Where code leaves for the interpreter: from which island, and to which program counter.
type Exit = (usize, u32);

/// Writes the IR of a function; `None` if there is nothing to compile, or if registers are used in unsupported ways.
pub fn write(function: &Function<'_>, name: &str, wide: bool) -> Option<Made> {
    let blocks = Blocks::of(function)?;
    let start = function.range().start;
    let mut entries = vec![0; function.range().len()].into_boxed_slice();
    for block in &blocks.blocks {
        entries[(block.start - start) as usize] = block.body;
    }
    if entries.iter().all(|&body| body == 0) {
        return None;
    }
    let mut writer = Writer::new(*function, &blocks.shapes);
    let mut exits = BTreeSet::new();
    head(&mut writer, &blocks, name, &entries);
    for block in &blocks.blocks {
        if !matches!(block.end, End::Interpreter) {
            body(&mut writer, &blocks, block, &mut exits).ok()?;
        }
    }
    tail(&mut writer, &blocks, &exits, wide);
    Some(Made { text: writer.text, entries, sites: writer.sites })
}

/// The entries: live registers are loaded from the frame.
fn head(w: &mut Writer<'_>, blocks: &Blocks, name: &str, entries: &[u32]) {
    w.line(format_args!("define i32 @{name}(ptr noalias %state, i32 %entry) #0 {{"));
    for (field, offset, ty) in [
        ("rows", offset_of!(State, rows), "ptr"),
        ("end", offset_of!(State, end), "i64"),
        ("shared", offset_of!(State, shared), "ptr"),
        ("shared_bytes", offset_of!(State, shared_bytes), "i64"),
        ("sites", offset_of!(State, sites), "ptr"),
        ("steps_before", offset_of!(State, steps), "i64"),
    ] {
        let place = w.field(offset);
        w.line(format_args!("%{field} = load {ty}, ptr {place}"));
    }
    w.line(format_args!("%steps = alloca i64"));
    w.line(format_args!("store i64 %steps_before, ptr %steps"));
    for (slot, &shape) in &blocks.shapes {
        w.line(format_args!("%r{slot} = alloca {}", type_of(shape)));
    }
    let first = blocks.blocks.first().map_or(0, |block| block.start);
    let number = |block: &&Block| entries[(block.start - first) as usize] != 0;
    let ways: String = blocks
        .blocks
        .iter()
        .filter(number)
        .map(|block| format!(" i32 {}, label %in{}", block.start - first, block.start))
        .collect();
    w.line(format_args!("switch i32 %entry, label %failed [{ways} ]"));
    for block in blocks.blocks.iter().filter(number) {
        w.label(&format!("in{}", block.start));
        for &slot in &blocks.islands[block.island].named {
            if let Some(shape) = w.shape(slot)
                && block.alive.has(slot)
            {
                let (ty, place) = (type_of(shape), w.frame(slot));
                let value = w.set(format_args!("load {ty}, ptr {place}, align 4"));
                w.line(format_args!("store {ty} {value}, ptr %r{slot}"));
            }
        }
        w.line(format_args!("br label %b{}", block.start));
    }
}

fn body(
    w: &mut Writer<'_>,
    blocks: &Blocks,
    block: &Block,
    exits: &mut BTreeSet<Exit>,
) -> Result<(), Misfit> {
    w.label(&format!("b{}", block.start));
    let mut steps = w.set(format_args!("load i64, ptr %steps"));
    if block.body > 0 {
        steps = w.set(format_args!("add i64 {steps}, {}", block.body));
        let out = leave(exits, block.island, block.start);
        let run = w.name("run");
        let fits = w.set(format_args!("icmp ule i64 {steps}, %end"));
        w.line(format_args!("br i1 {fits}, label %{run}, label %{out}"));
        w.label(&run);
        let families = memory::families(w, block.start, block.behind());
        for pc in block.start..block.behind() {
            operation(w, pc, families.get(&pc).copied())?;
        }
        w.settle()?;
        w.line(format_args!("store i64 {steps}, ptr %steps"));
    }
    let End::Branch { guard, target } = block.end else {
        let next = way(blocks, block, exits, block.behind());
        w.line(format_args!("br label %{next}"));
        return Ok(());
    };
    // The branch counts as an operation.
    let pc = block.behind();
    let out = leave(exits, block.island, pc);
    let steps = w.set(format_args!("add i64 {steps}, 1"));
    let fits = w.set(format_args!("icmp ule i64 {steps}, %end"));
    let run = w.name("branch");
    w.line(format_args!("br i1 {fits}, label %{run}, label %{out}"));
    w.label(&run);
    let to = way(blocks, block, exits, target);
    if guard.slot == NONE {
        w.line(format_args!("store i64 {steps}, ptr %steps"));
        w.line(format_args!("br label %{to}"));
        return Ok(());
    }
    w.guard(guard)?;
    let mask = w.active.take().map_or("-1".to_owned(), |active| active.mask);
    w.settle()?;
    let behind = way(blocks, block, exits, pc + 1);
    let (taken, not_all, passed) = (w.name("taken"), w.name("not_all"), w.name("passed"));
    let all = w.set(format_args!("icmp eq i32 {mask}, -1"));
    w.line(format_args!("br i1 {all}, label %{taken}, label %{not_all}"));
    w.label(&not_all);
    // Some lanes branch and some do not: the interpreter splits the warp.
    let none = w.set(format_args!("icmp eq i32 {mask}, 0"));
    w.line(format_args!("br i1 {none}, label %{passed}, label %{out}"));
    for (label, to) in [(taken, to), (passed, behind)] {
        w.label(&label);
        w.line(format_args!("store i64 {steps}, ptr %steps"));
        w.line(format_args!("br label %{to}"));
    }
    Ok(())
}

/// The label of the next block, or of the exit.
fn way(blocks: &Blocks, from: &Block, exits: &mut BTreeSet<Exit>, pc: u32) -> String {
    match blocks.at(pc) {
        Some(block) if !matches!(block.end, End::Interpreter) => format!("b{pc}"),
        _ => leave(exits, from.island, pc),
    }
}

fn leave(exits: &mut BTreeSet<Exit>, island: usize, pc: u32) -> String {
    exits.insert((island, pc));
    format!("out{island}_{pc}")
}

fn operation(w: &mut Writer<'_>, pc: u32, family: Option<Family>) -> Result<(), Misfit> {
    let step = w.function.step(pc);
    w.guard(step.guard)?;
    match step.kind {
        Kind::Nothing => Ok(()),
        Kind::Arithmetic(operation) => match arithmetic::write(w, operation)? {
            true => Ok(()),
            false => w.perform(pc, None),
        },
        Kind::Load(op) => memory::load(w, op, pc, family),
        Kind::Store(op) => memory::store(w, op, pc, family),
        _ => w.perform(pc, None),
    }
}

/// The exits: written registers that are live are stored to the frame.
fn tail(w: &mut Writer<'_>, blocks: &Blocks, exits: &BTreeSet<Exit>, wide: bool) {
    for &(island, pc) in exits {
        w.label(&format!("out{island}_{pc}"));
        let written = &blocks.islands[island].written;
        let at_branch = blocks.blocks.iter().find(|block| block.behind() == pc && block.start != pc);
        let alive = match (blocks.at(pc), at_branch) {
            (Some(block), _) => Some(&block.alive),
            (None, Some(block)) => Some(&block.alive_at_branch),
            (None, None) => None,
        };
        for &slot in written {
            if let Some(shape) = w.shape(slot)
                && alive.is_none_or(|alive| alive.has(slot))
            {
                let ty = type_of(shape);
                let value = w.set(format_args!("load {ty}, ptr %r{slot}"));
                let place = w.frame(slot);
                w.line(format_args!("store {ty} {value}, ptr {place}, align 4"));
            }
        }
        let (field, steps) = (w.field(offset_of!(State, steps)), w.set(format_args!("load i64, ptr %steps")));
        w.line(format_args!("store i64 {steps}, ptr {field}"));
        w.line(format_args!("ret i32 {pc}"));
    }
    w.label("failed");
    w.line(format_args!("ret i32 0"));
    w.line(format_args!("}}"));
    let width = if wide { 512 } else { 256 };
    w.line(format_args!(
        "attributes #0 = {{ nounwind \"probe-stack\"=\"inline-asm\" \"prefer-vector-width\"=\"{width}\" \"min-legal-vector-width\"=\"{width}\" }}"
    ));
    // Branch weights for the usual case.
    w.line(format_args!("!0 = !{{!\"branch_weights\", i32 2000, i32 1}}"));
}
