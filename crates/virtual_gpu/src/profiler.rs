//! Counts what a launch does to shared and global memory, by program counter, and sums it by source line.
//!
//! The counts follow the rules measured on an H200 (`gpu_model`), per PTX instruction: they equal the hardware's when
//! the module is compiled at optimisation level 0, because `ptxas` may merge neighbouring shared accesses above it.
//! What has no measured rule is not guessed: it is listed in [`LaunchProfile::not_counted`].

mod operations;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use gpu_model::banks::{self, shared_wavefronts};
use gpu_model::coalescing::{atomic_sectors, copied_sectors, sectors};

use crate::fault::{Fault, SourceFrame};
use crate::form::access::AtomicFunction;
use crate::form::op::{AtomicOp, OpKind};
use crate::form::program::Code;
use crate::memory::window;
use crate::observer::{
    Access, AccessKind, AsyncEvent, At, BlockInfo, BlockObserver, LaunchInfo, LaunchObserver, MemorySpace,
};

pub use gpu_model::profile::{
    BySpace, Counters, GlobalCounters, LaunchProfile, LineProfile, NotCounted, Operations, SharedCounters,
    TensorOperations,
};

/// Where an instruction that reached a space is counted.
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
    /// Tallies that no block holds. Counts only add up, so blocks may share them in any order.
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

/// What blocks have counted, by program counter.
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
    /// What `cp.async` reads.
    copies: HashMap<u32, GlobalCounters>,
    /// Bulk copies from and (`true`) to global memory.
    bulk: HashMap<(u32, bool), GlobalCounters>,
    others: BTreeMap<&'static str, u64>,
}

/// One memory instruction in one space: it belongs to one family.
#[derive(Debug, Clone, Copy)]
struct Site {
    pc: u32,
    count: Count,
}

#[derive(Debug, Clone, Copy)]
enum Count {
    Shared(AccessKind, banks::Access, SharedCounters),
    Global(AccessKind, GlobalCounters),
    NotCounted(&'static str, u64),
    /// What `cp.async` reads is told with the start of its copies.
    Copies,
}

/// Counts for one block at a time.
#[derive(Debug)]
pub struct BlockProfiler {
    code: Arc<Code>,
    tally: Tally,
}

impl LaunchObserver for Profiler {
    type Block = BlockProfiler;

    fn begin(&mut self, launch: &LaunchInfo) {
        self.code = Some(launch.code.clone());
        self.profile = LaunchProfile {
            kernel: launch.kernel.clone(),
            grid: launch.launch.grid,
            block: launch.launch.block,
            shared_bytes: launch.shared_bytes,
            ..LaunchProfile::default()
        };
    }

    fn block(&self, _: &BlockInfo) -> BlockProfiler {
        let code = self.code.clone().unwrap_or_default();
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let tally = idle.unwrap_or_else(|| Tally {
            executed: vec![[0; 2]; code.len()],
            site_of: vec![0; code.len()],
            ..Tally::default()
        });
        BlockProfiler { code, tally }
    }

    fn merge(&mut self, block: BlockProfiler) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(block.tally);
    }

    fn end(&mut self, launch: &LaunchInfo, fault: Option<&Fault>) {
        let tallies = std::mem::take(&mut *self.idle.lock().unwrap_or_else(PoisonError::into_inner));
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
        // Most warps are full, and counting bits is a dozen instructions on a processor that need not have one for it.
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
            self.tally.sites.push(Site { pc: at.pc, count });
            *slot = self.tally.sites.len() as u32;
        }
        let site = &mut self.tally.sites[*slot as usize - 1];
        // One instruction, however many accesses: it was counted when it started its copies.
        if matches!(site.count, Count::Copies) {
            return;
        }
        *reached(&mut self.tally.memory_instructions, access.space) += 1;
        match &mut site.count {
            Count::Copies => {}
            Count::Shared(_, rule, counters) => {
                let cost = shared_wavefronts(*rule, access.bytes(), access.lanes, access.addresses);
                counters.instructions += 1;
                counters.wavefronts += u64::from(cost.wavefronts);
                counters.ideal_wavefronts += u64::from(cost.ideal);
                counters.bank_conflicts += u64::from(cost.bank_conflicts());
            }
            Count::Global(kind, counters) => {
                counters.requests += 1;
                counters.sectors += u64::from(match kind {
                    AccessKind::Load | AccessKind::Store => {
                        sectors(access.bytes(), access.lanes, access.addresses)
                    }
                    AccessKind::Atomic | AccessKind::Reduction => {
                        if wide_swap(&self.code, at) {
                            *self.tally.others.entry(WIDE_SWAPS).or_default() += 1;
                        }
                        atomic_sectors(access.bytes(), access.lanes, access.addresses)
                    }
                });
                counters.bytes += u64::from(access.lanes.count_ones()) * u64::from(access.bytes());
            }
            Count::NotCounted(_, instructions) => *instructions += 1,
        }
    }

    fn asynchronous(&mut self, at: At, event: &AsyncEvent<'_>) {
        match *event {
            AsyncEvent::CopyStarted { global, bytes, read, .. } => {
                *self.tally.others.entry("what cp.async writes to shared memory").or_default() += 1;
                let reads = |lane: &usize| at.lanes >> lane & 1 != 0 && read[*lane] != 0;
                let reading = (0..32).filter(reads).fold(0u32, |mask, lane| mask | 1 << lane);
                // Of whole pieces; those that go past the first cache have a rule of their own.
                if reading != 0 {
                    *reached(&mut self.tally.memory_instructions, MemorySpace::Global) += 1;
                    let counters = self.tally.copies.entry(at.pc).or_default();
                    counters.requests += 1;
                    counters.sectors += u64::from(match self.code.opcode(at.pc) {
                        Some(opcode) if opcode.has("cg") => copied_sectors(reading, global),
                        _ => sectors(bytes, reading, global),
                    });
                    counters.bytes += u64::from(reading.count_ones()) * u64::from(bytes);
                }
            }
            AsyncEvent::Moved { space: MemorySpace::Global, write, address, bytes, .. } => {
                let counters = self.tally.bulk.entry((at.pc, write)).or_default();
                counters.requests += 1;
                counters.sectors += (address + u64::from(bytes)).div_ceil(32) - address / 32;
                counters.bytes += u64::from(bytes);
            }
            _ => {}
        }
    }
}

/// Where two of 56 measurements differ from the rule, by one sector.
const WIDE_SWAPS: &str = "sectors of global compare-and-swaps of 8 bytes, which may be one more or fewer";

fn wide_swap(code: &Code, at: At) -> bool {
    let op = code.ops.get(at.pc as usize).map(|op| &op.kind);
    matches!(op, Some(OpKind::Atomic(op)) if op.function == AtomicFunction::CompareAndSwap && op.width == 8)
}

/// The family of an instruction, or what it is if none of its accesses has a measured rule.
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
        // Of 2 bytes they become loops, whose turns depend on timing; wider ones were not measured.
        _ if atomic => match op {
            Some(OpKind::Atomic(op)) if matches!(op.width, 4 | 8) && access.bytes() <= 16 => {
                Count::Global(access.kind, GlobalCounters::default())
            }
            _ => not_counted("global atomics of 2 or more than 16 bytes"),
        },
        _ => Count::Global(access.kind, GlobalCounters::default()),
    }
}

/// The rule of a shared atomic. Those that the chip has no instruction for become loops, whose turns depend on timing.
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
    let mut lines: BTreeMap<(String, u32), Counters> = BTreeMap::new();
    let mut others: BTreeMap<&'static str, u64> = BTreeMap::new();
    for tally in tallies {
        profile.warp_instructions += tally.executed.iter().map(|e| e[0]).sum::<u64>();
        profile.memory_instructions += tally.memory_instructions;
        // Those at a place that is known beforehand show no addresses to anybody.
        let loads = code.ops.iter().zip(&tally.executed);
        let loads = loads.filter(|(op, _)| matches!(op.kind, OpKind::LoadParam(_)));
        profile.memory_instructions.parameter += loads.map(|(_, executed)| executed[0]).sum::<u64>();
        for (pc, &[_, lanes]) in tally.executed.iter().enumerate().filter(|(_, e)| e[1] > 0) {
            profile.operations += code.opcode(pc as u32).map(operations::of).unwrap_or_default() * lanes;
        }
        for (what, count) in &tally.others {
            *others.entry(what).or_default() += count;
        }
        for (&(pc, write), counted) in &tally.bulk {
            let line = lines.entry(line_of(code, pc)).or_default();
            for counters in [line, &mut profile.counters] {
                let family = if write { &mut counters.bulk_store } else { &mut counters.bulk_load };
                *family += *counted;
            }
        }
        for (&pc, counted) in &tally.copies {
            let line = lines.entry(line_of(code, pc)).or_default();
            line.global_load += *counted;
            profile.counters.global_load += *counted;
        }
        for site in &tally.sites {
            if let Count::NotCounted(what, count) = site.count {
                *others.entry(what).or_default() += count;
                continue;
            }
            let line = lines.entry(line_of(code, site.pc)).or_default();
            add(line, &site.count);
            add(&mut profile.counters, &site.count);
        }
    }
    profile.lines =
        lines.into_iter().map(|((file, line), counters)| LineProfile { file, line, counters }).collect();
    profile.not_counted = others
        .into_iter()
        .map(|(family, instructions)| NotCounted { family: family.to_owned(), instructions })
        .collect();
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

/// Whether a file is of the standard libraries or of the building blocks.
pub fn is_library(file: &str) -> bool {
    ["/library/core/", "/library/alloc/", "/library/std/", "/cuda_std/", "/crates/tile/"]
        .iter()
        .any(|library| file.contains(library))
}

/// The line of the kernel: the innermost frame outside the standard libraries and the building blocks (`crates/tile`),
/// whose every user would otherwise share one line.
fn line_of(code: &Code, pc: u32) -> (String, u32) {
    let frames = code.frames(pc);
    let own = |frame: &&SourceFrame| !is_library(&frame.file);
    match frames.iter().find(own).or(frames.first()) {
        Some(frame) => (frame.file.clone(), frame.line),
        None => (String::new(), code.ptx_line(pc)),
    }
}
