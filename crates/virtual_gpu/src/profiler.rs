//! Counts what a launch does to shared and global memory, by program counter, and adds it up by source line.
//!
//! The counts follow the rules measured on an H200 (`gpu_model`), per PTX instruction: they equal the hardware's when
//! the module is compiled at optimisation level 0, because `ptxas` may merge neighbouring shared accesses above it.
//! Families without a measured rule are not guessed; they are listed in [`LaunchProfile::not_counted`].

mod footprint;
mod operations;
mod site;
mod tally;

use std::collections::BTreeMap;
use std::iter;
use std::sync::{Arc, Mutex, PoisonError};

use crate::counting::{Counter, Counts, Tables};
use crate::fault::{Fault, SourceFrame, is_library};
use crate::form::op::OpKind;
use crate::form::program::Code;
use crate::memory::{Memory, Owners};
use crate::observer::{
    Access, AccessKind, AsyncEvent, At, BlockInfo, BlockObserver, LaunchInfo, LaunchObserver,
};

use footprint::Footprint;
use site::Count;
use tally::Tally;

pub use gpu_model::profile::{
    BySpace, Counters, Distinct, GlobalCounters, InstructionCounts, LaunchProfile, LineProfile, NotCounted,
    Operations, SharedCounters, Strides, TensorOperations,
};

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

    /// The counters.
    pub fn finish(self) -> LaunchProfile {
        self.profile
    }
}

/// Counts for one block at a time.
#[derive(Debug)]
pub struct BlockProfiler {
    code: Arc<Code>,
    /// Only with several devices.
    owners: Option<Owners>,
    tally: Tally,
    /// Where the tally goes when the block has ended.
    idle: Arc<Mutex<Vec<Tally>>>,
}

impl LaunchObserver for Profiler {
    type Block = BlockProfiler;

    fn begin(&mut self, launch: &LaunchInfo) {
        self.code = Some(launch.code.clone());
        self.memory = Some(launch.memory.clone());
        self.profile = LaunchProfile {
            kernel: ptx::rust_name(&launch.kernel).into_owned(),
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
        let mut tally = idle.unwrap_or_else(|| Tally::new(&code));
        tally.begin_block();
        let owners = self.memory.as_ref().and_then(Owners::new);
        BlockProfiler { code, owners, tally, idle: self.idle.clone() }
    }

    fn end(&mut self, launch: &LaunchInfo, fault: Option<&Fault>) {
        let mut tallies = std::mem::take(&mut *self.idle.lock().unwrap_or_else(PoisonError::into_inner));
        tallies.iter_mut().for_each(|tally| tally.settle(&launch.code));
        self.profile.fault = fault.map(ToString::to_string);
        sum(&mut self.profile, &launch.code, &tallies);
    }
}

impl BlockObserver for BlockProfiler {
    const INSTRUCTIONS: bool = true;
    const MEMORY: bool = true;
    const COUNTS: bool = true;
    const ADDS_UP: bool = true;

    #[inline]
    fn instruction(&mut self, at: At) {
        let [times, lanes] = &mut self.tally.executed[at.pc as usize];
        *times += 1;
        // Most warps are full, and counting bits takes a dozen instructions on processors without one for it.
        *lanes += if at.lanes == u32::MAX { 32 } else { at.lanes.count_ones().into() };
    }

    #[inline]
    fn access(&mut self, at: At, access: &Access<'_>) {
        self.tally.access(&self.code, &mut self.owners, at.pc, access);
    }

    fn asynchronous(&mut self, at: At, event: &AsyncEvent<'_>) {
        self.tally.asynchronous(&self.code, &mut self.owners, at, event);
    }

    fn next(&mut self, _: &BlockInfo) {
        self.tally.begin_block();
    }

    fn ended(&mut self) {
        let tally = std::mem::take(&mut self.tally);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(tally);
    }

    fn counts(&mut self) -> Option<&mut dyn Counts> {
        Some(self)
    }
}

impl Counts for BlockProfiler {
    fn tables(&mut self, together: bool, counters: &Arc<[Counter]>) -> Tables {
        self.tally.tables(together, counters)
    }

    fn logged(&mut self, together: bool, accesses: usize) {
        self.tally.logged(&self.code, &mut self.owners, together, accesses);
    }

    fn set_distance(&mut self, together: bool, counter: u32, distance: u64) {
        self.tally.set_distance(&self.code, together, counter, distance);
    }
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
        line.local_accesses += tallies.iter().map(|tally| tally.local_accesses[pc as usize]).sum::<u64>();
        line.warp_instructions += times;
        line.lane_instructions += lanes;
        profile.warp_instructions += times;
        profile.lane_instructions += lanes;
        let operations = code.opcode(pc).map(operations::of).unwrap_or_default() * lanes;
        line.operations += operations;
        profile.operations += operations;
    }
    for (&(file, number), work) in &mut lines {
        work.distinct = distinct(
            tallies.iter().filter_map(|tally| Some((&tally.reads, Some(tally.line(file, number)?)))),
        );
    }
    profile.distinct = distinct(tallies.iter().map(|tally| (&tally.reads, None)));
    profile.lines = lines
        .into_iter()
        .map(|((file, line), work)| LineProfile {
            file: file.to_owned(),
            line,
            work,
            ..LineProfile::default()
        })
        .collect();
    profile.not_counted = others
        .into_iter()
        .map(|(family, instructions)| NotCounted { family: family.to_owned(), instructions })
        .collect();
}

/// The bytes read, from the parts that the threads have seen.
fn distinct<'a>(parts: impl Iterator<Item = (&'a Footprint, Option<u32>)> + Clone) -> Distinct {
    let by_block = parts.clone().map(|(part, line)| part.by_block(line)).sum();
    Distinct { by_block, by_launch: Footprint::distinct(parts) }
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
