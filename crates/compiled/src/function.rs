//! A function as LLVM IR: entries and exits, blocks, and the branches between them.

use std::collections::BTreeMap;
use std::mem::offset_of;

use virtual_gpu::counting::Counter;
use virtual_gpu::jit::{Compact, Function, Kind, NONE, Slot, State};

use crate::blocks::{Block, Blocks, End, Set, Shape};
use crate::families::{self, Family};
use crate::if_conversion::{self, IfConversion};
use crate::lanes::{LaneFact, NoWrap};
use crate::live_edges::{Entry, LiveEdges, LiveOuts};
use crate::loops::Loop;
use crate::values::{BITS, LONGS, Misfit, WORDS};
use crate::widths::Width;
use crate::writer::Writer;
use crate::{arithmetic, collective, memory, rows};

/// The IR of a function.
pub struct Made {
    pub text: String,
    /// By program counter: operations that a slice must have room for at an entry; 0 where there is none.
    pub entries: Box<[u32]>,
    /// The blocks' first program counters.
    pub starts: Box<[u32]>,
    /// Registers that the code stores for some of their lanes only.
    pub compact: Box<[Compact]>,
    /// Those of them that are live at the start of blocks and at their branches.
    pub compact_at: Box<[(u32, Box<[Compact]>)]>,
    pub sites: usize,
    pub counters: Vec<Counter>,
}

/// Side exits, by region and program counter, with their live-outs.
type SideExits = BTreeMap<(usize, u32), LiveOuts>;

/// The blocks of a function, the live-ins and live-outs of its regions, and the side exits.
struct Plan {
    blocks: Blocks,
    live_edges: LiveEdges,
    exits: SideExits,
}

/// Writes the IR of a function; `None` if there is nothing to compile, or if registers are used in unsupported ways.
pub fn write(function: &Function<'_>, name: &str, wide: bool) -> Option<Made> {
    let blocks = Blocks::of(function)?;
    let start = function.range().start;
    let mut entries = vec![0; function.range().len()].into_boxed_slice();
    for (number, block) in blocks.blocks.iter().enumerate() {
        // A block that is only a branch would be left at once where the group diverges.
        let goes_on = block.body > 0
            || if_conversion::end_of(function, block.start).is_some()
            || blocks.room(number) > block.whole();
        if goes_on && blocks.is_entry(number) {
            entries[(block.start - start) as usize] = blocks.room(number);
        }
    }
    if entries.iter().all(|&body| body == 0) {
        return None;
    }
    let shapes = blocks.shapes.clone();
    let mut writer = Writer::new(*function, &shapes, wide);
    let live_edges = LiveEdges::of(function, &blocks);
    let mut plan = Plan { blocks, live_edges, exits: SideExits::new() };
    head(&mut writer, &plan, name, &entries);
    for number in 0..plan.blocks.blocks.len() {
        if !matches!(plan.blocks.blocks[number].end, End::Interpreter) {
            body(&mut writer, &mut plan, number).ok()?;
        }
    }
    tail(&mut writer, &plan).ok()?;
    let starts = plan.blocks.blocks.iter().map(|block| block.start).collect();
    let compact = writer.compact();
    let live = |set: &Set| compact.iter().copied().filter(|compact| set.has(compact.slot)).collect();
    let mut compact_at = Vec::new();
    for block in &plan.blocks.blocks {
        compact_at.push((block.start, live(&block.live)));
        if block.body > 0
            && let End::Branch { .. } = block.end
        {
            compact_at.push((block.behind(), live(&block.live_at_branch)));
        }
    }
    let compact_at = compact_at.into();
    Some(Made {
        text: writer.text,
        entries,
        starts,
        compact,
        compact_at,
        sites: writer.sites,
        counters: writer.counters,
    })
}

/// Writes the entries: live-ins are loaded from the frame.
fn head(w: &mut Writer<'_>, plan: &Plan, name: &str, entries: &[u32]) {
    let Plan { blocks, live_edges, .. } = plan;
    w.line(format_args!("define i32 @{name}(ptr noalias %state, i32 %entry) #0 {{"));
    let of_group = [
        ("lanes", offset_of!(State, lanes), "i32"),
        ("live", offset_of!(State, live), "i32"),
        ("reconverge", offset_of!(State, reconverge), "i32"),
    ];
    let of_group = if w.function.is_converged() { &[][..] } else { &of_group };
    for &(field, offset, ty) in of_group.iter().chain(&[
        ("rows", offset_of!(State, rows), "ptr"),
        ("spin_limit_before", offset_of!(State, spin_limit), "i32"),
        ("params", offset_of!(State, params), "ptr"),
        ("end", offset_of!(State, end), "i64"),
        ("shared", offset_of!(State, shared), "ptr"),
        ("shared_bytes", offset_of!(State, shared_bytes), "i64"),
        ("sites", offset_of!(State, sites), "ptr"),
        ("steps_before", offset_of!(State, steps), "i64"),
    ]) {
        let place = w.field(offset);
        w.line(format_args!("%{field} = load {ty}, ptr {place}"));
    }
    if w.function.is_converged() {
        // All lanes are here, and there is no other group.
        for name in ["lanes", "live", "reconverge"] {
            w.line(format_args!("%{name} = add i32 0, -1"));
        }
    }
    w.line(format_args!("%group = bitcast i32 %lanes to {BITS}"));
    w.line(format_args!("%full = icmp eq i32 %lanes, -1"));
    w.line(format_args!("%steps = alloca i64"));
    w.line(format_args!("store i64 %steps_before, ptr %steps"));
    w.line(format_args!("%spin_limit = alloca i32"));
    w.line(format_args!("store i32 %spin_limit_before, ptr %spin_limit"));
    let backward = w.field(offset_of!(State, backward));
    let backward = w.set(format_args!("load i32, ptr {backward}"));
    w.line(format_args!("%backward = alloca i32"));
    w.line(format_args!("store i32 {backward}, ptr %backward"));
    w.line(format_args!("%behind = alloca i1"));
    w.line(format_args!("%table = alloca {WORDS}"));
    w.line(format_args!("%several = alloca [4 x {LONGS}]"));
    w.begin_counting();
    if_conversion::declare(w, blocks);
    for (&slot, &shape) in &blocks.shapes {
        let ty = w.kept_type(slot, shape);
        w.line(format_args!("%r{slot} = alloca {ty}"));
        if w.is_compact(slot) {
            let ty = if shape == Shape::Pair { LONGS } else { WORDS };
            w.line(format_args!("%m{slot} = alloca {ty}"));
        }
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
    for (number, block) in blocks.blocks.iter().enumerate() {
        if matches!(block.end, End::Interpreter) || !blocks.is_entry(number) {
            continue;
        }
        w.label(&format!("in{}", block.start));
        let behind = live_edges.entry(number) == Entry::Resumed;
        w.line(format_args!("store i1 {behind}, ptr %behind"));
        for &slot in &blocks.regions[block.region].named {
            if let Some(shape) = w.shape(slot)
                && block.live.has(slot)
                && live_edges.loads(number, slot)
            {
                let (ty, value) = (w.kept_type(slot, shape), w.load_from_frame(slot, shape));
                w.line(format_args!("store {ty} {value}, ptr %r{slot}"));
            }
        }
        w.line(format_args!("br label %b{}", block.start));
    }
}

fn body(w: &mut Writer<'_>, plan: &mut Plan, number: usize) -> Result<(), Misfit> {
    let Block { start, end, .. } = plan.blocks.blocks[number];
    let (behind, whole) = (plan.blocks.blocks[number].behind(), plan.blocks.blocks[number].whole());
    w.label(&format!("b{start}"));
    let before = w.set(format_args!("load i64, ptr %steps"));
    let steps = w.set(format_args!("add i64 {before}, {whole}"));
    let mut can = None;
    if plan.blocks.is_entry(number) {
        let all = w.set(format_args!("add i64 {before}, {}", plan.blocks.room(number)));
        let fits = w.set(format_args!("icmp ule i64 {all}, %end"));
        let apart = w.set(format_args!("icmp ule i32 {}, %reconverge", start + whole));
        can = Some(w.set(format_args!("and i1 {fits}, {apart}")));
    }
    if behind > start
        && let step = w.function.step(start)
        && let Kind::Collective(op) = step.kind
        && let Some(ready) = collective::ready(w, op, step.guard)?
    {
        can = Some(match can {
            Some(can) => w.set(format_args!("and i1 {can}, {ready}")),
            None => ready,
        });
    }
    if let Some(can) = can {
        let (run, out) = (w.name("run"), plan.side_exit(number, start, false));
        w.line(format_args!("br i1 {can}, label %{run}, label %{out}, !prof !0"));
        w.label(&run);
    }
    let families = families::families(w, start, behind);
    w.make_room(families.len())?;
    for pc in start..behind {
        if w.function.is_converged()
            && let Some(condition) = w.uniformity.condition(pc)
        {
            guard_no_wrap(w, plan, number, pc, condition, &before)?;
        }
        operation(w, pc, families.get(&pc).copied())?;
    }
    w.in_all_lanes();
    let End::Branch { guard, target } = end else {
        plan.settle(w, number)?;
        w.line(format_args!("store i64 {steps}, ptr %steps"));
        w.count_run(start..behind);
        let next = plan.edge(number, behind);
        w.line(format_args!("br label %{next}"));
        return Ok(());
    };
    let pc = behind;
    w.guard(guard)?;
    let mask = w.mask();
    w.active = None;
    plan.settle(w, number)?;
    w.line(format_args!("store i64 {steps}, ptr %steps"));
    let counted = w.count_run(start..start + whole);
    let taken = w.name("taken");
    // The branch is left to the interpreter, and not counted as run.
    let stay = w.name("stay");
    if guard.slot == NONE {
        w.line(format_args!("br label %{taken}"));
    } else {
        let (not_all, passed) = (w.name("not_all"), plan.edge(number, pc + 1));
        let all = w.set(format_args!("icmp eq i32 {mask}, %lanes"));
        w.line(format_args!("br i1 {all}, label %{taken}, label %{not_all}"));
        w.label(&not_all);
        let none = w.set(format_args!("icmp eq i32 {mask}, 0"));
        match IfConversion::of(&w.function, &plan.blocks, number) {
            Some(converted) => {
                let split = w.name("split");
                w.line(format_args!("br i1 {none}, label %{passed}, label %{split}"));
                w.label(&split);
                converted.write(w, &plan.blocks, number, &mask, &stay)?;
                let mut end = plan.edge(number, converted.end);
                if !plan.blocks.is_alone(number) {
                    // Any of its blocks may have written.
                    for inner in converted.blocks.clone() {
                        end = plan.edge(inner, converted.end);
                    }
                }
                w.line(format_args!("br label %{end}"));
            }
            None if let Some(turning) = Loop::of(&w.function, &plan.blocks, number) => {
                let split = w.name("split");
                w.line(format_args!("br i1 {none}, label %{passed}, label %{split}"));
                w.label(&split);
                let kept = plan.live_edges.written(number, true).general;
                turning.write(w, &plan.blocks, number, (&mask, &stay, &kept))?;
                w.line(format_args!("br label %{passed}"));
            }
            // The group diverges: the interpreter makes two groups of it.
            None => w.line(format_args!("br i1 {none}, label %{passed}, label %{stay}")),
        }
    }
    w.label(&taken);
    let to = plan.edge(number, target);
    // A lone group may go back as often as it likes.
    let is_counted = target <= pc && !w.function.is_converged();
    if is_counted {
        let left = w.set(format_args!("load i32, ptr %spin_limit"));
        let some = w.set(format_args!("icmp ne i32 {left}, 0"));
        let back = w.name("back");
        w.line(format_args!("br i1 {some}, label %{back}, label %{stay}, !prof !0"));
        w.label(&back);
        let left = w.set(format_args!("sub i32 {left}, 1"));
        w.line(format_args!("store i32 {left}, ptr %spin_limit"));
    }
    w.line(format_args!("br label %{to}"));
    if guard.slot != NONE || is_counted {
        let out = plan.side_exit(number, pc, true);
        w.label(&stay);
        let steps = w.set(format_args!("sub i64 {steps}, 1"));
        w.line(format_args!("store i64 {steps}, ptr %steps"));
        w.recount(counted, start..behind);
        w.line(format_args!("br label %{out}"));
    }
    Ok(())
}

/// Writes a guard before an operation: where its result wraps, code for diverged warps goes on.
fn guard_no_wrap(
    w: &mut Writer<'_>,
    plan: &mut Plan,
    number: usize,
    pc: u32,
    NoWrap { slot, signed, stride }: NoWrap,
    before: &str,
) -> Result<(), Misfit> {
    let start = plan.blocks.blocks[number].start;
    w.width = Width::Two;
    let first = w.words(slot)?;
    let goes_on = rows::go_on(w, &first, (stride.into(), signed, 32));
    let goes_on = rows::both(w, &goes_on);
    let (fine, odd) = (w.name("fine"), w.name("odd"));
    w.line(format_args!("br i1 {goes_on}, label %{fine}, label %{odd}, !prof !0"));
    w.label(&odd);
    let known = w.known();
    match plan.blocks.is_alone(number) {
        true => w.settle_in_frame(None)?,
        false => w.settle()?,
    }
    let steps = w.set(format_args!("add i64 {before}, {}", pc - start));
    w.line(format_args!("store i64 {steps}, ptr %steps"));
    if pc > start {
        w.count_run(start..pc);
    }
    let converged = w.field(offset_of!(State, converged));
    w.line(format_args!("store i32 0, ptr {converged}"));
    let out = plan.side_exit(number, pc, true);
    w.line(format_args!("br label %{out}"));
    w.label(&fine);
    w.recall(known);
    Ok(())
}

impl Plan {
    /// The label of the edge to `pc`: a block of the same region, or a side exit.
    fn edge(&mut self, from: usize, pc: u32) -> String {
        let region = self.blocks.blocks[from].region;
        match self.blocks.at(pc) {
            Some(block) if !matches!(block.end, End::Interpreter) && block.region == region => {
                format!("b{pc}")
            }
            _ => self.side_exit(from, pc, true),
        }
    }

    /// Stores the registers that a block wrote where its successors find them.
    fn settle(&self, w: &mut Writer<'_>, number: usize) -> Result<(), Misfit> {
        match self.blocks.is_alone(number) {
            true => w.settle_in_frame(Some(&self.blocks.live_after(&w.function, number))),
            false => w.settle(),
        }
    }

    /// The label of a side exit, from before a block's operations or `after` them.
    fn side_exit(&mut self, from: usize, pc: u32, after: bool) -> String {
        let region = self.blocks.blocks[from].region;
        // A block that is alone has stored its results already.
        let written = self.live_edges.written(from, after && !self.blocks.is_alone(from));
        match self.exits.get_mut(&(region, pc)) {
            Some(known) => known.add(&written),
            None => {
                self.exits.insert((region, pc), written);
            }
        }
        format!("out{region}_{pc}")
    }
}

pub fn operation(w: &mut Writer<'_>, pc: u32, family: Option<Family>) -> Result<(), Misfit> {
    let step = w.function.step(pc);
    w.guard(step.guard)?;
    w.count_guarded(pc);
    let lanes = match w.function.is_converged() && w.active.is_none() {
        true => w.uniformity.result(pc),
        false => LaneFact::VARYING,
    };
    (w.width, w.stride) = (lanes.width(), lanes.stride());
    match step.kind {
        Kind::Nothing => Ok(()),
        Kind::Arithmetic(operation) => match arithmetic::write(w, operation)? {
            true => Ok(()),
            false => w.perform(pc, None),
        },
        Kind::Load(op) => memory::load(w, op, pc, family),
        Kind::Store(op) => memory::store(w, op, pc, family),
        Kind::Parameter(op) => memory::parameter(w, op, pc),
        Kind::Atomic(op) => memory::atomic(w, op, pc),
        Kind::Collective(op) => collective::write(w, op, pc),
        Kind::Fence => {
            w.line(format_args!("fence seq_cst"));
            Ok(())
        }
        Kind::ActiveMask { target } => {
            let mask = w.mask();
            let mask = w.splat(&mask, "i32");
            w.write_words(target, mask)
        }
        _ => w.perform(pc, None),
    }
}

/// Writes the side exits: live-outs are stored to the frame, in the group's lanes.
fn tail(w: &mut Writer<'_>, plan: &Plan) -> Result<(), Misfit> {
    let Plan { blocks, exits, .. } = plan;
    let region = |number: usize| &blocks.regions[number].named;
    for (&(number, pc), written) in exits {
        w.label(&format!("out{number}_{pc}"));
        let at_branch = blocks.blocks.iter().find(|block| block.behind() == pc && block.start != pc);
        let live = match (blocks.at(pc), at_branch) {
            (Some(block), _) => Some(&block.live),
            (None, Some(block)) => Some(&block.live_at_branch),
            (None, None) => None,
        };
        let kept = |written: &Set| -> Vec<Slot> {
            let is_kept = |slot: Slot| written.has(slot) && live.is_none_or(|live| live.has(slot));
            region(number).iter().copied().filter(|&slot| is_kept(slot)).collect()
        };
        let next = match blocks.at(pc) {
            Some(block) if block.region != number && !matches!(block.end, End::Interpreter) => {
                Next::Region(pc)
            }
            _ => Next::Interpreter(pc),
        };
        let general = kept(&written.general);
        let behind = written.resumed.as_ref().map(kept).filter(|behind| behind.len() < general.len());
        if let Some(behind) = behind {
            let (few, all) = (w.name("few"), w.name("all"));
            let is_behind = w.set(format_args!("load i1, ptr %behind"));
            w.line(format_args!("br i1 {is_behind}, label %{few}, label %{all}"));
            w.label(&few);
            store_live_outs(w, &behind, &next)?;
            w.label(&all);
        }
        store_live_outs(w, &general, &next)?;
    }
    w.label("failed");
    w.line(format_args!("ret i32 0"));
    w.line(format_args!("}}"));
    for scattered in std::mem::take(&mut w.scattered) {
        w.text += &scattered.text();
    }
    let width = if w.wide { 512 } else { 256 };
    // A vector on the stack is as long as a cache line, and would else take two of them, or two pages.
    for (number, more) in [(0, "alignstack=64 \"probe-stack\"=\"inline-asm\""), (1, "noinline")] {
        w.line(format_args!(
            "attributes #{number} = {{ nounwind {more} \"prefer-vector-width\"=\"{width}\" \"min-legal-vector-width\"=\"{width}\" }}"
        ));
    }
    w.line(format_args!("!0 = !{{!\"branch_weights\", i32 2000, i32 1}}"));
    w.line(format_args!("!1 = !{{!\"branch_weights\", i32 1, i32 2000}}"));
    Ok(())
}

/// The code behind a side exit.
enum Next {
    Region(u32),
    Interpreter(u32),
}

/// Stores registers to the frame, and goes on.
fn store_live_outs(w: &mut Writer<'_>, slots: &[Slot], next: &Next) -> Result<(), Misfit> {
    for &slot in slots {
        if let Some(shape) = w.shape(slot) {
            w.keep_slot(slot, shape)?;
        }
    }
    let pc = match next {
        Next::Region(pc) => {
            w.line(format_args!("br label %in{pc}"));
            return Ok(());
        }
        Next::Interpreter(pc) => pc,
    };
    w.give_back();
    w.line(format_args!("ret i32 {pc}"));
    Ok(())
}
