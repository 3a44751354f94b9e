//! The observer that runs the checks beside a launch.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use virtual_gpu::memory::window::SHARED_OFFSET_BITS;
use virtual_gpu::observer::{
    Access, AsyncEvent, At, BarrierStep, BlockInfo, Carrier, Entered, LaunchInfo, MemorySpace, Named,
    Operands, Order, Register, Scope, Undefined,
};
use virtual_gpu::profiler::Profiler;
use virtual_gpu::{BlockObserver, Error, Fault, Job, LaunchObserver, Watch};

use crate::checks::{Check, Checks};
use crate::cluster::{Renaming, Teams, named, renamed};
use crate::finding::{self, Finding, Findings};
use crate::history::GlobalRaces;
use crate::init::Whence;
use crate::kind::{Decides, Kind};
use crate::launched::Launched;
use crate::memory;
use crate::objects::Objects;
use crate::pending_race::PendingRace;
use crate::place;
use crate::poison::{self, Poison, Spread};
use crate::reached::Reached;
use crate::report::Reporter;
use crate::shadow::Spare;
use crate::streams;
use crate::tool::BlockBarrier;
use crate::tools::Tools;
use crate::watched::Watched;
use crate::written::Written;

/// Watches one launch. Made by [`crate::Sanitizer::launch`].
#[derive(Debug)]
pub struct LaunchCheck {
    pub(crate) checks: Checks,
    pub(crate) objects: Arc<Objects>,
    pub(crate) written: Arc<Mutex<Written>>,
    pub(crate) report: Arc<Mutex<Vec<Finding>>>,
    pub(crate) faulted: Arc<AtomicBool>,
    /// Values that the blocks went on without.
    pub(crate) spread: Arc<Spread>,
    pub(crate) races: Arc<Mutex<GlobalRaces>>,
    pub(crate) spare: Spare,
    pub(crate) teams: Option<Teams>,
    pub(crate) launch: Option<Arc<Launched>>,
    pub(crate) findings: Findings,
    /// Most bytes that shadows of one block took.
    pub(crate) block_bytes: usize,
}

impl LaunchCheck {
    /// Bytes of shadow that the launch took beside what the program's own memory takes: of global memory for races, and
    /// the most of one block.
    pub fn shadow_bytes(&self) -> (usize, usize) {
        (self.races.lock().unwrap_or_else(PoisonError::into_inner).bytes(), self.block_bytes)
    }
}

impl Watch for LaunchCheck {
    fn run(&mut self, job: Job<'_>) -> Result<(), Error> {
        Profiled { check: self, profiler: None }.run(job)
    }
}

/// A check, and the profile of the same launch where one is wanted.
///
/// One type for both cases: the interpreter is compiled for each, which is most of what this crate takes.
#[derive(Debug)]
pub struct Profiled<'a> {
    /// The check.
    pub check: &'a mut LaunchCheck,
    /// Further counts beside it.
    pub profiler: Option<&'a mut Profiler>,
}

impl Watch for Profiled<'_> {
    fn run(&mut self, job: Job<'_>) -> Result<(), Error> {
        job.under(&mut (&mut *self.check, self.profiler.as_deref_mut()))
    }
}

impl LaunchObserver for LaunchCheck {
    type Block = BlockCheck;

    /// Blocks share the shadow of global memory, and what one schedule finds must be found again.
    fn serial(&self) -> bool {
        true
    }

    fn begin(&mut self, launch: &LaunchInfo) {
        self.teams = Teams::of(launch);
        self.launch = Some(Arc::new(Launched::of(launch)));
    }

    fn block(&self, block: &BlockInfo) -> BlockCheck {
        let launched = self.launch.clone().expect("`begin` comes before the first block");
        let watched = Watched {
            linear: place::linear(block),
            threads: block.threads,
            member: self.teams.as_ref().map(|teams| teams.member(block, &self.spare)),
            launched: &launched,
            races: &self.races,
            written: &self.written,
        };
        BlockCheck {
            rank: watched.member.as_ref().map(|member| member.rank),
            tools: Tools::of(&watched, self.checks),
            poison: Poison::of(&watched, &self.spread),
            faulted: self.faulted.clone(),
            reporter: self.reporter(launched.clone(), watched.linear),
        }
    }

    fn merge(&mut self, mut block: BlockCheck) {
        let mut bytes = 0;
        block.tools.each(|tool| bytes += tool.bytes());
        self.block_bytes = self.block_bytes.max(bytes);
        self.findings.merge(block.reporter.findings);
    }

    fn end(&mut self, launch: &LaunchInfo, fault: Option<&Fault>) {
        if let (true, Some(launched)) = (self.checks.has(Check::Race), &self.launch) {
            streams::launched(launched, &self.races);
            let pending = self.races.lock().unwrap_or_else(PoisonError::into_inner).take_pending();
            for PendingRace { at, block, space, race, .. } in pending {
                let mut reporter = self.reporter(launched.clone(), block);
                reporter.race(at, space, race);
                self.findings.merge(reporter.findings);
            }
        }
        let mut found = std::mem::take(&mut self.findings).into_vec();
        if let Some(fault) = fault {
            self.faulted.store(true, Ordering::Relaxed);
            if fault.kind.is_of_access() && self.spread.is_over() {
                for finding in &mut found {
                    if let Kind::InvalidAccess(access) = &mut finding.kind {
                        access.ended_after = Some(poison::MOST);
                    }
                }
            } else {
                found.extend(memory::of_fault(fault, self.checks, &launch.kernel, &self.objects));
            }
        }
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        found.into_iter().for_each(|finding| finding::add(&mut report, finding));
    }
}

impl LaunchCheck {
    fn reporter(&self, launched: Arc<Launched>, block: u32) -> Reporter {
        Reporter { launched, objects: self.objects.clone(), block, findings: Findings::default() }
    }
}

/// Watches one block: shows its tools what happens.
#[derive(Debug)]
pub struct BlockCheck {
    tools: Tools,
    poison: Poison,
    reporter: Reporter,
    faulted: Arc<AtomicBool>,
    /// Its rank, in a cluster.
    rank: Option<u32>,
}

impl BlockObserver for BlockCheck {
    const MEMORY: bool = true;
    const REGISTERS: bool = true;
    const SYNCHRONISATION: bool = true;
    const YIELDS: bool = true;
    const GOES_ON: bool = true;

    #[inline]
    fn guard(&mut self, at: At, predicate: Register) {
        self.tools.each(|tool| tool.guard(at, predicate, &mut self.reporter));
    }

    #[inline]
    fn follows(&self, warp: u32) -> bool {
        self.tools.any(|tool| tool.follows(warp)) || self.poison.follows(warp)
    }

    #[inline]
    fn registers(&mut self, at: At, reads: &[Register], writes: &[Register], operands: &Operands<'_>) {
        self.tools.each(|tool| tool.registers(at, reads, writes, operands, &mut self.reporter));
        self.poison.registers(at, reads, writes, operands);
    }

    #[inline]
    fn meaningless(&self, at: At, address: Register) -> u32 {
        self.poison.lanes(at, address)
    }

    fn skips(&mut self, at: At, address: Option<Register>, fault: &dyn Fn() -> Fault) -> bool {
        if !self.poison.allows() {
            return false;
        }
        self.faulted.store(true, Ordering::Relaxed);
        if let Some(address) = address {
            self.is_address(at, address);
        }
        if self.tools.arrays.is_some() {
            self.reporter.skipped(at, fault);
        }
        true
    }

    fn skipped(&mut self, at: At, loaded: Named<'_>) {
        self.poison.skipped(at, loaded);
        if let Some(init) = &mut self.tools.init {
            init.skipped(at, loaded);
        }
    }

    fn copied_nothing(&mut self, _: At, space: MemorySpace, address: u64, bytes: u32) {
        self.poison.copied_nothing(space, address, bytes);
    }

    fn access(&mut self, at: At, access: &Access<'_>) {
        if access.lanes == 0 {
            return;
        }
        let reached = Reached::of(access);
        self.poison.access(at, access, &reached);
        if access.space == MemorySpace::Shared {
            self.tools.each(|tool| tool.shared_access(at, access, &reached, &mut self.reporter));
            if self.rank.is_some() || reached.end >> SHARED_OFFSET_BITS != 0 {
                let addresses = access.addresses.map(|address| named(self.rank, address));
                let access = Access { addresses: &addresses, ..*access };
                let reached = Reached::of(&access);
                return self.tools.each(|tool| tool.access(at, &access, &reached, &mut self.reporter));
            }
        }
        self.tools.each(|tool| tool.access(at, access, &reached, &mut self.reporter));
    }

    fn barrier(&mut self, at: At, index: u32, threads: u32, step: BarrierStep, aligned: bool) {
        let barrier = BlockBarrier { index, threads, step, aligned };
        self.tools.each(|tool| tool.barrier(at, barrier, &mut self.reporter));
    }

    fn fence(&mut self, at: At, _order: Order, scope: Scope) {
        self.tools.each(|tool| tool.fence(at, scope));
    }

    fn warp_sync(&mut self, at: At, members: u32, orders: bool) {
        self.tools.each(|tool| tool.warp_sync(at, members, orders, &mut self.reporter));
    }

    fn shuffled(&mut self, at: At, target: Option<Register>, value: Option<Register>, sources: &[u8; 32]) {
        if let Some(target) = target {
            self.tools.each(|tool| tool.shuffled(at, target, value, sources));
            self.poison.shuffled(at, target, value, sources);
        }
    }

    fn enter(&mut self, at: At, frame: &Entered) {
        self.tools.each(|tool| tool.enter(at, frame));
        self.poison.enter(at, frame);
    }

    fn passed(&mut self, at: At, from: Carrier, to: Carrier, bytes: u32) {
        self.tools.each(|tool| tool.passed(at, from, to, bytes));
        self.poison.passed(at, from, to, bytes);
    }

    fn heap_allocated(&mut self, _at: At, address: u64, bytes: u64) {
        self.reporter.objects.allocated(address, bytes, Some("malloc in a kernel"), false);
        self.tools.each(|tool| tool.heap_allocated(address, bytes));
    }

    fn heap_freed(&mut self, _at: At, address: u64) {
        self.reporter.objects.freed(address);
    }

    fn printed(&mut self, at: At, space: MemorySpace, address: u64, bytes: u32) {
        self.tools.each(|tool| tool.printed(at, space, address, bytes, &mut self.reporter));
    }

    fn exit(&mut self, at: At) {
        self.tools.each(|tool| tool.exit(at, &mut self.reporter));
    }

    fn undefined(&mut self) -> Option<&mut dyn Undefined> {
        if self.tools.init.is_some() { Some(self) } else { None }
    }

    fn asynchronous(&mut self, at: At, event: &AsyncEvent<'_>) {
        self.poison.asynchronous(at, event);
        let mut renaming = Renaming::default();
        let event = &renamed(event, self.rank, &mut renaming);
        self.tools.each(|tool| tool.asynchronous(at, event, &mut self.reporter));
    }
}

/// Of a block with the initialisation check on.
impl Undefined for BlockCheck {
    fn has_some(&self, warp: u32) -> bool {
        self.tools.init.as_ref().is_some_and(|init| init.is_tainted(warp))
    }

    fn of_register(&self, warp: u32, register: Register) -> [u64; 32] {
        self.tools.init.as_ref().map_or([0; 32], |init| init.of_register(warp, register))
    }

    fn set_register(&mut self, at: At, register: Register, undefined: &[u64; 32]) {
        if let Some(init) = &mut self.tools.init {
            init.set_register(at, register, undefined);
        }
    }

    fn of_memory(&mut self, space: MemorySpace, address: u64, bytes: u32) -> u128 {
        self.tools.init.as_mut().map_or(0, |init| init.of_memory(space, address, bytes))
    }

    fn set_memory(&mut self, space: MemorySpace, address: u64, bytes: u32, undefined: u128) {
        if let Some(init) = &mut self.tools.init {
            init.set_memory(space, address, bytes, undefined);
        }
    }

    fn is_address(&mut self, at: At, register: Register) {
        let Some(init) = &self.tools.init else { return };
        let undefined = init.undefined_lanes(at, register);
        if undefined != 0 {
            let whence = Whence::Read(init.origin(at, register));
            self.reporter.undefined(at, whence, Decides::Address, undefined);
        }
    }
}
