//! Counts what a launch does to shared and global memory, by program counter, and adds it up by source line.
//!
//! The counts follow the rules measured on an H200 (`gpu_model`), per PTX instruction: they equal the hardware's when
//! the module is compiled at optimisation level 0, because `ptxas` may merge neighbouring shared accesses above it.
//! What has no measured rule is not guessed; it is listed in [`LaunchProfile::not_counted`].

mod footprint;
mod operations;

use std::collections::{BTreeMap, HashMap};
use std::iter;
use std::sync::{Arc, Mutex, PoisonError};

use gpu_model::banks::{self, shared_wavefronts};
use gpu_model::coalescing::{atomic_sectors, copied_sectors, sectors};

use crate::fault::{Fault, SourceFrame, is_library};
use crate::form::access::AtomicFunction;
use crate::form::op::{AtomicOp, OpKind};
use crate::form::program::Code;
use crate::memory::{Memory, Owners, window};
use crate::observer::{
    Access, AccessKind, AsyncEvent, At, BlockInfo, BlockObserver, LaunchInfo, LaunchObserver, MemorySpace,
};

use footprint::{Footprint, Reads};

pub use gpu_model::profile::{
    BySpace, Counters, Distinct, GlobalCounters, InstructionCounts, LaunchProfile, LineProfile, NotCounted,
    Operations, SharedCounters, Strides, TensorOperations,
};

/// The counter for instructions that reach this space.
fn reached(by: &mut BySpace, space: MemorySpace) -> &mut u64 {
    match space {
        MemorySpace::Param => &mut by.parameter,
        MemorySpace::Local => &mut by.local,
        MemorySpace::Shared => &mut by.shared,
        MemorySpace::Global => &mut by.global,
        MemorySpace::Const => &mut by.constant,
    }
}

/// Profiles one launch: pass it to [`crate::Gpu::launch`], then take [`Profiler::finish`].
#[derive(Debug, Default)]
pub struct Profiler {
    code: Option<Arc<Code>>,
    memory: Option<Arc<Memory>>,
    /// Tallies that no block is using. Counts only add up, so blocks may share them in any order.
    idle: Arc<Mutex<Vec<Tally>>>,
    profile: LaunchProfile,
}

impl Profiler {
    /// A profiler for one launch.
    pub fn new() -> Self {
        Self::default()
    }

    /// What was counted.
    pub fn finish(self) -> LaunchProfile {
        self.profile
    }
}

/// Counts of one or more blocks, by program counter.
#[derive(Debug, Default)]
struct Tally {
    /// How often each instruction was executed, and by how many lanes: side by side, since both are counted at once.
    executed: Vec<[u64; 2]>,
    memory_instructions: BySpace,
    /// Index into `sites`, plus one; 0 is none.
    site_of: Vec<u32>,
    sites: Vec<Site>,
    /// Sites of instructions with generic addresses, which may reach more than one space.
    generic: HashMap<(u32, MemorySpace), u32>,
    /// Reads of `cp.async`.
    copies: HashMap<u32, GlobalCounters>,
    /// Bulk copies from and (`true`) to global memory.
    bulk: HashMap<(u32, bool), GlobalCounters>,
    others: BTreeMap<&'static str, u64>,
    /// By instruction, the index of its line in `reads`, plus one; 0 is not yet known.
    line_of: Vec<u32>,
    /// Where each line is in `reads`.
    lines: HashMap<(String, u32), usize>,
    /// What each line reads of global memory.
    reads: Vec<Reads>,
    /// What all lines read together.
    whole: Reads,
}

impl Tally {
    /// What the line of an instruction reads in this block.
    fn read(&mut self, code: &Code, pc: u32) -> &mut Footprint {
        let slot = &mut self.line_of[pc as usize];
        if *slot == 0 {
            let (file, line) = line_of(code, pc);
            let next = self.reads.len();
            let at = *self.lines.entry((file.to_owned(), line)).or_insert(next);
            if at == next {
                self.reads.push(Reads::default());
            }
            *slot = at as u32 + 1;
        }
        &mut self.reads[*slot as usize - 1].block
    }

    /// The block it was used for has ended.
    fn end_block(&mut self) {
        for reads in self.reads.iter_mut().filter(|reads| !reads.block.is_empty()) {
            self.whole.block.extend(&reads.block);
            reads.end_block();
        }
        self.whole.end_block();
    }
}

/// One memory instruction in one space; it belongs to one family.
#[derive(Debug, Clone, Copy)]
struct Site {
    pc: u32,
    count: Count,
    /// The distance between its lanes where that was costly.
    strides: Strides,
}

#[derive(Debug, Clone, Copy)]
enum Count {
    Shared(AccessKind, banks::Access, SharedCounters),
    Global(AccessKind, GlobalCounters),
    NotCounted(&'static str, u64),
    /// Reads of `cp.async` are reported when its copies start.
    Copies,
}

/// Counts for one block at a time.
#[derive(Debug)]
pub struct BlockProfiler {
    code: Arc<Code>,
    /// Only with several devices.
    owners: Option<Owners>,
    tally: Tally,
}

impl LaunchObserver for Profiler {
    type Block = BlockProfiler;

    fn begin(&mut self, launch: &LaunchInfo) {
        self.code = Some(launch.code.clone());
        self.memory = Some(launch.memory.clone());
        self.profile = LaunchProfile {
            kernel: launch.kernel.clone(),
            device: launch.memory.has_peers().then(|| launch.memory.device()),
            grid: launch.launch.grid,
            block: launch.launch.block,
            shared_bytes: launch.shared_bytes,
            ..LaunchProfile::default()
        };
    }

    fn block(&self, _: &BlockInfo) -> BlockProfiler {
        let code = self.code.clone().unwrap_or_default();
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut tally = idle.unwrap_or_else(|| Tally {
            executed: vec![[0; 2]; code.len()],
            site_of: vec![0; code.len()],
            line_of: vec![0; code.len()],
            ..Tally::default()
        });
        // Here and not in `merge`, which is called for one block after another.
        tally.end_block();
        let owners = self.memory.as_ref().and_then(Owners::new);
        BlockProfiler { code, owners, tally }
    }

    fn merge(&mut self, block: BlockProfiler) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(block.tally);
    }

    fn end(&mut self, launch: &LaunchInfo, fault: Option<&Fault>) {
        let mut tallies = std::mem::take(&mut *self.idle.lock().unwrap_or_else(PoisonError::into_inner));
        tallies.iter_mut().for_each(Tally::end_block);
        self.profile.fault = fault.map(ToString::to_string);
        sum(&mut self.profile, &launch.code, &tallies);
    }
}

impl BlockObserver for BlockProfiler {
    const INSTRUCTIONS: bool = true;
    const MEMORY: bool = true;

    #[inline]
    fn instruction(&mut self, at: At) {
        let [times, lanes] = &mut self.tally.executed[at.pc as usize];
        *times += 1;
        // Most warps are full, and counting bits takes a dozen instructions on processors without one for it.
        *lanes += if at.lanes == u32::MAX { 32 } else { at.lanes.count_ones().into() };
    }

    #[inline]
    fn access(&mut self, at: At, access: &Access<'_>) {
        if matches!(access.space, MemorySpace::Const | MemorySpace::Local | MemorySpace::Param) {
            *reached(&mut self.tally.memory_instructions, access.space) += 1;
            return;
        }
        let slot = if access.generic {
            self.tally.generic.entry((at.pc, access.space)).or_default()
        } else {
            &mut self.tally.site_of[at.pc as usize]
        };
        if *slot == 0 {
            let count = family(&self.code, at, access);
            self.tally.sites.push(Site { pc: at.pc, count, strides: Strides::default() });
            *slot = self.tally.sites.len() as u32;
        }
        let site = &mut self.tally.sites[*slot as usize - 1];
        // One instruction, however many accesses: it was counted when it started its copies.
        if matches!(site.count, Count::Copies) {
            return;
        }
        *reached(&mut self.tally.memory_instructions, access.space) += 1;
        let mut reads = false;
        match &mut site.count {
            Count::Copies => {}
            Count::Shared(_, rule, counters) => {
                let cost = shared_wavefronts(*rule, access.bytes(), access.lanes, access.addresses);
                counters.instructions += 1;
                counters.wavefronts += u64::from(cost.wavefronts);
                counters.ideal_wavefronts += u64::from(cost.ideal);
                counters.bank_conflicts += u64::from(cost.bank_conflicts());
                if cost.bank_conflicts() > 0 {
                    site.strides += Strides::of(access.lanes, access.addresses);
                }
            }
            Count::Global(kind, counters) => {
                let is_atomic = matches!(kind, AccessKind::Atomic | AccessKind::Reduction);
                let rule = if is_atomic { atomic_sectors } else { sectors };
                counters.requests += 1;
                reads = *kind == AccessKind::Load;
                let touched = rule(access.bytes(), access.lanes, access.addresses);
                let bytes = access.lanes.count_ones() * access.bytes();
                counters.sectors += u64::from(touched);
                counters.bytes += u64::from(bytes);
                if touched > bytes.div_ceil(32) {
                    site.strides += Strides::of(access.lanes, access.addresses);
                }
                if let Some(owners) = &mut self.owners {
                    let lanes = owners.of_peers(access.lanes, access.addresses);
                    if lanes != 0 {
                        counters.peer_sectors += u64::from(rule(access.bytes(), lanes, access.addresses));
                        counters.peer_bytes += u64::from(lanes.count_ones()) * u64::from(access.bytes());
                    }
                }
                if is_atomic && wide_swap(&self.code, at) {
                    *self.tally.others.entry(WIDE_SWAPS).or_default() += 1;
                }
            }
            Count::NotCounted(_, instructions) => *instructions += 1,
        }
        if reads {
            let footprint = self.tally.read(&self.code, at.pc);
            footprint.add_lanes(access.lanes, access.addresses, access.bytes());
        }
    }

    fn asynchronous(&mut self, at: At, event: &AsyncEvent<'_>) {
        match *event {
            AsyncEvent::CopyStarted { global, bytes, read, .. } => {
                *self.tally.others.entry("what cp.async writes to shared memory").or_default() += 1;
                let reads = |lane: &usize| at.lanes >> lane & 1 != 0 && read[*lane] != 0;
                let reading = (0..32).filter(reads).fold(0u32, |mask, lane| mask | 1 << lane);
                // In whole pieces; those that bypass the first cache have a different rule.
                if reading != 0 {
                    *reached(&mut self.tally.memory_instructions, MemorySpace::Global) += 1;
                    let counters = self.tally.copies.entry(at.pc).or_default();
                    let past = self.code.opcode(at.pc).is_some_and(|opcode| opcode.has("cg"));
                    let rule = |lanes| match past {
                        true => copied_sectors(lanes, global),
                        false => sectors(bytes, lanes, global),
                    };
                    let of_peers = self.owners.as_mut().map_or(0, |owners| owners.of_peers(reading, global));
                    counters.requests += 1;
                    counters.sectors += u64::from(rule(reading));
                    counters.bytes += u64::from(reading.count_ones()) * u64::from(bytes);
                    if of_peers != 0 {
                        counters.peer_sectors += u64::from(rule(of_peers));
                        counters.peer_bytes += u64::from(of_peers.count_ones()) * u64::from(bytes);
                    }
                    self.tally.read(&self.code, at.pc).add_lanes(reading, global, bytes);
                }
            }
            AsyncEvent::Moved { space: MemorySpace::Global, write, address, bytes, .. } => {
                let counters = self.tally.bulk.entry((at.pc, write)).or_default();
                let sectors = (address + u64::from(bytes)).div_ceil(32) - address / 32;
                counters.requests += 1;
                counters.sectors += sectors;
                counters.bytes += u64::from(bytes);
                if self.owners.as_mut().is_some_and(|owners| owners.is_peers(address)) {
                    counters.peer_sectors += sectors;
                    counters.peer_bytes += u64::from(bytes);
                }
                if !write {
                    self.tally.read(&self.code, at.pc).add(address, bytes.into());
                }
            }
            _ => {}
        }
    }
}

/// Two of 56 measurements differ from the rule, by one sector.
const WIDE_SWAPS: &str = "sectors of global compare-and-swaps of 8 bytes, which may be one more or fewer";

fn wide_swap(code: &Code, at: At) -> bool {
    let op = code.ops.get(at.pc as usize).map(|op| &op.kind);
    matches!(op, Some(OpKind::Atomic(op)) if op.function == AtomicFunction::CompareAndSwap && op.width == 8)
}

/// The family of an instruction, or the reason why none of its accesses has a measured rule.
fn family(code: &Code, at: At, access: &Access<'_>) -> Count {
    let not_counted = |what| Count::NotCounted(what, 0);
    let op = code.ops.get(at.pc as usize).map(|op| &op.kind);
    if matches!(op, Some(OpKind::Extension(_))) {
        let name = code.opcode(at.pc).map(|opcode| opcode.name.as_str());
        return match (name, access.space) {
            (Some("ldmatrix" | "stmatrix"), MemorySpace::Shared) => {
                Count::Shared(access.kind, banks::Access::Matrix, SharedCounters::default())
            }
            (Some("cp"), MemorySpace::Global) => Count::Copies,
            _ => not_counted("matrix and bulk instructions"),
        };
    }
    let multimem = match op {
        Some(OpKind::Load(op) | OpKind::Store(op)) => op.multimem,
        Some(OpKind::Atomic(op)) => op.multimem,
        _ => false,
    };
    if multimem {
        return not_counted("multimem");
    }
    let atomic = matches!(access.kind, AccessKind::Atomic | AccessKind::Reduction);
    match access.space {
        MemorySpace::Shared => {
            let remote = access.lanes != 0
                && access.addresses[access.lanes.trailing_zeros() as usize] >> window::SHARED_OFFSET_BITS
                    != 0;
            if remote {
                not_counted("shared memory of other blocks")
            } else if atomic {
                match op {
                    Some(OpKind::Atomic(op)) => atomic_rule(op, access.kind),
                    _ => not_counted("shared atomics"),
                }
            } else if access.bytes() > 16 {
                not_counted("shared accesses of more than 16 bytes")
            } else {
                let rule = match access.kind {
                    AccessKind::Load if access.generic => banks::Access::GenericLoad,
                    AccessKind::Load => banks::Access::Load,
                    _ => banks::Access::Store,
                };
                Count::Shared(access.kind, rule, SharedCounters::default())
            }
        }
        // Those of 2 bytes become loops, whose iterations depend on timing; wider ones were not measured.
        _ if atomic => match op {
            Some(OpKind::Atomic(op)) if matches!(op.width, 4 | 8) && access.bytes() <= 16 => {
                Count::Global(access.kind, GlobalCounters::default())
            }
            _ => not_counted("global atomics of 2 or more than 16 bytes"),
        },
        _ => Count::Global(access.kind, GlobalCounters::default()),
    }
}

/// The rule for a shared atomic. Those for which the chip has no instruction become loops, whose iterations depend on
/// timing.
fn atomic_rule(op: &AtomicOp, kind: AccessKind) -> Count {
    use AtomicFunction::*;
    let rule = match (op.function, op.width) {
        (Add, 4) if op.counts => banks::Access::Count,
        (CompareAndSwap, 4 | 8) => banks::Access::CompareAndSwap,
        (Exchange, 4 | 8) => banks::Access::Atomic,
        (
            Add | And | Or | Xor | Increment | Decrement | MinUnsigned | MaxUnsigned | MinSigned | MaxSigned,
            4,
        ) => banks::Access::Atomic,
        _ => return Count::NotCounted("shared atomics that become loops of compare-and-swap", 0),
    };
    Count::Shared(kind, rule, SharedCounters::default())
}

fn sum(profile: &mut LaunchProfile, code: &Code, tallies: &[Tally]) {
    let mut lines: BTreeMap<(&str, u32), InstructionCounts> = BTreeMap::new();
    let mut others: BTreeMap<&'static str, u64> = BTreeMap::new();
    for tally in tallies {
        profile.memory_instructions += tally.memory_instructions;
        // Accesses at addresses known in advance are not reported.
        let loads = code.ops.iter().zip(&tally.executed);
        let loads = loads.filter(|(op, _)| matches!(op.kind, OpKind::LoadParam(_)));
        profile.memory_instructions.parameter += loads.map(|(_, executed)| executed[0]).sum::<u64>();
        for (what, count) in &tally.others {
            *others.entry(what).or_default() += count;
        }
        for (&(pc, write), counted) in &tally.bulk {
            let line = lines.entry(line_of(code, pc)).or_default();
            for counters in [&mut line.counters, &mut profile.counters] {
                let family = if write { &mut counters.bulk_store } else { &mut counters.bulk_load };
                *family += *counted;
            }
        }
        for (&pc, counted) in &tally.copies {
            let line = lines.entry(line_of(code, pc)).or_default();
            line.counters.global_load += *counted;
            profile.counters.global_load += *counted;
        }
        for site in &tally.sites {
            if let Count::NotCounted(what, count) = site.count {
                *others.entry(what).or_default() += count;
                continue;
            }
            let line = lines.entry(line_of(code, site.pc)).or_default();
            add(&mut line.counters, &site.count);
            add(&mut profile.counters, &site.count);
            match site.count {
                Count::Shared(..) => line.shared_strides += site.strides,
                _ => line.global_strides += site.strides,
            }
        }
    }
    for pc in 0..code.len() {
        let executed = tallies.iter().map(|tally| tally.executed[pc]);
        let [times, lanes] = executed.fold([0; 2], |[a, b], [times, lanes]| [a + times, b + lanes]);
        if times == 0 {
            continue;
        }
        let pc = pc as u32;
        let line = lines.entry(line_of(code, pc)).or_default();
        line.warp_instructions += times;
        line.lane_instructions += lanes;
        profile.warp_instructions += times;
        profile.lane_instructions += lanes;
        let operations = code.opcode(pc).map(operations::of).unwrap_or_default() * lanes;
        line.operations += operations;
        profile.operations += operations;
    }
    for (&(file, number), work) in &mut lines {
        let of_line = |tally: &Tally| tally.lines.get(&(file.to_owned(), number)).copied();
        work.distinct = distinct(tallies.iter().filter_map(|tally| Some(&tally.reads[of_line(tally)?])));
    }
    profile.distinct = distinct(tallies.iter().map(|tally| &tally.whole));
    profile.lines = lines
        .into_iter()
        .map(|((file, line), work)| LineProfile { file: file.to_owned(), line, work })
        .collect();
    profile.not_counted = others
        .into_iter()
        .map(|(family, instructions)| NotCounted { family: family.to_owned(), instructions })
        .collect();
}

/// The bytes read, from the parts that the threads have seen.
fn distinct<'a>(parts: impl Iterator<Item = &'a Reads>) -> Distinct {
    let mut launch = Footprint::default();
    let mut by_block = 0;
    for part in parts {
        launch.extend(&part.launch);
        by_block += part.by_block;
    }
    Distinct { by_block, by_launch: launch.bytes() }
}

fn add(to: &mut Counters, count: &Count) {
    match count {
        Count::Shared(kind, _, from) => {
            let to = match kind {
                AccessKind::Load => &mut to.shared_load,
                AccessKind::Store => &mut to.shared_store,
                AccessKind::Atomic | AccessKind::Reduction => &mut to.shared_atomic,
            };
            *to += *from;
        }
        Count::Global(kind, from) => {
            let to = match kind {
                AccessKind::Load => &mut to.global_load,
                AccessKind::Store => &mut to.global_store,
                AccessKind::Atomic | AccessKind::Reduction => &mut to.global_atomic,
            };
            *to += *from;
        }
        Count::NotCounted(..) | Count::Copies => {}
    }
}

/// The kernel's line: the innermost frame outside the standard libraries and the building blocks (`tile`, `blockwise`),
/// which would otherwise put all their users on one line. An instruction without such a line belongs to the previous one
/// that has one, or, at the start of its function, to the next. A library function that is not inlined keeps its own lines.
fn line_of(code: &Code, pc: u32) -> (&str, u32) {
    /// How far to search for a line.
    const NEAR: u32 = 64;
    // The compiler gives line 0 to what it moved or merged.
    let line = |pc: u32, wanted: fn(&SourceFrame) -> bool| {
        let frame = code.frames(pc).iter().find(|frame| frame.line > 0 && wanted(frame))?;
        Some((frame.file.as_str(), frame.line))
    };
    let function = code.function(pc);
    let near = || {
        let before = (pc.saturating_sub(NEAR)..pc).rev();
        let after = pc + 1..(pc + NEAR).min(code.len() as u32);
        let here = iter::once(pc).chain(before).chain(after);
        here.filter(|&other| code.function(other) == function)
    };
    let of = |wanted: fn(&SourceFrame) -> bool| near().find_map(|pc| line(pc, wanted));
    let found =
        if code.has_lines() { of(|frame| !is_library(&frame.file)).or_else(|| of(|_| true)) } else { None };
    found.unwrap_or_else(|| ("", code.ptx_line(pc)))
}
