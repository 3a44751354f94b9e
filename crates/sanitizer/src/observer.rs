//! The observer that runs the checks beside a launch.

use std::sync::{Arc, Mutex, PoisonError};

use virtual_gpu::observer::{
    Access, AsyncEvent, At, BarrierStep, BlockInfo, LaunchInfo, MemorySpace, Order, Register, Scope,
};
use virtual_gpu::{BlockObserver, Code, Fault, FaultKind, LaunchObserver};

use crate::barrier::{BlockBarriers, Wrong};
use crate::checks::Checks;
use crate::finding::{Check, Finding, Findings, Key, Object, Severity, Site};
use crate::init::{BlockInit, Decides, Written};
use crate::objects::Objects;
use crate::place::{self, Shape};
use crate::race::{BlockRaces, GlobalRaces, Race};

/// Watches one launch. Made by [`crate::Sanitizer::launch`].
#[derive(Debug)]
pub struct LaunchCheck {
    pub(crate) checks: Checks,
    pub(crate) objects: Arc<Objects>,
    pub(crate) written: Arc<Mutex<Written>>,
    pub(crate) report: Arc<Mutex<Vec<Finding>>>,
    pub(crate) races: Arc<Mutex<GlobalRaces>>,
    pub(crate) launch: Option<Arc<Launched>>,
    pub(crate) findings: Findings,
}

/// What every block needs to name things in a report.
#[derive(Debug)]
pub(crate) struct Launched {
    kernel: String,
    shape: Shape,
    code: Arc<Code>,
    shared_bytes: u32,
}

impl LaunchObserver for LaunchCheck {
    type Block = BlockCheck;

    /// Blocks share the shadow of global memory, and what one schedule finds must be found again.
    fn serial(&self) -> bool {
        true
    }

    fn begin(&mut self, launch: &LaunchInfo) {
        self.launch = Some(Arc::new(Launched {
            kernel: launch.kernel.clone(),
            shape: Shape::new(launch),
            code: launch.code.clone(),
            shared_bytes: launch.shared_bytes,
        }));
    }

    fn block(&self, block: &BlockInfo) -> BlockCheck {
        let linear = place::linear(block);
        let launched = self.launch.clone().expect("`begin` comes before the first block");
        BlockCheck {
            objects: self.objects.clone(),
            block: linear,
            races: self.checks.race.then(|| BlockRaces::new(linear, block.threads, self.races.clone())),
            init: self.checks.init.then(|| BlockInit::new(block.threads, self.written.clone())),
            barriers: self.checks.barrier.then(|| BlockBarriers::new(block.threads)),
            launched,
            findings: Findings::default(),
        }
    }

    fn merge(&mut self, block: BlockCheck) {
        self.findings.merge(block.findings);
    }

    fn end(&mut self, launch: &LaunchInfo, fault: Option<&Fault>) {
        let mut found = std::mem::take(&mut self.findings).into_vec();
        found.extend(fault.and_then(|fault| of_fault(fault, self.checks, &launch.kernel)));
        self.report.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
    }
}

/// Watches one block.
#[derive(Debug)]
pub struct BlockCheck {
    launched: Arc<Launched>,
    objects: Arc<Objects>,
    block: u32,
    races: Option<BlockRaces>,
    init: Option<BlockInit>,
    barriers: Option<BlockBarriers>,
    findings: Findings,
}

/// Where in the block something was found, for making sites.
struct Reporter<'a> {
    launched: &'a Launched,
    objects: &'a Objects,
    block: u32,
    findings: &'a mut Findings,
}

impl BlockCheck {
    fn parts(&mut self) -> (Reporter<'_>, &mut Option<BlockRaces>, &mut Option<BlockInit>) {
        let reporter = Reporter {
            launched: &self.launched,
            objects: &self.objects,
            block: self.block,
            findings: &mut self.findings,
        };
        (reporter, &mut self.races, &mut self.init)
    }

    fn wrong_barrier(&mut self, at: At, wrong: Option<Wrong>) {
        if let Some(wrong) = wrong {
            self.parts().0.barrier(at, wrong);
        }
    }
}

impl Reporter<'_> {
    fn site(&self, what: &'static str, pc: u32, block: u32, warp: u32, lane: u32) -> Site {
        let shape = &self.launched.shape;
        Site::new(what, shape.block(block), shape.thread(warp, lane), self.launched.code.location(pc))
    }

    fn object(&self, space: MemorySpace, address: u64) -> Object {
        match space {
            MemorySpace::Global => self.objects.global(address),
            MemorySpace::Shared => Object {
                space: "shared",
                name: None,
                size: Some(self.launched.shared_bytes.into()),
                offset: address,
            },
            MemorySpace::Local => Object { space: "local", name: None, size: None, offset: address },
            MemorySpace::Const => Object { space: "const", ..self.objects.global(address) },
            MemorySpace::Param => Object { space: "param", name: None, size: None, offset: address },
        }
    }

    fn race(&mut self, at: At, space: MemorySpace, race: Race) {
        let verb = |write: bool, strong: bool| match (write, strong) {
            (true, true) => "atomic write",
            (true, false) => "write",
            (false, true) => "atomic read",
            (false, false) => "read",
        };
        let earlier = race.earlier;
        let kind = match (earlier.touch.write, race.write) {
            (true, true) => "write after write",
            (true, false) => "read after write",
            (false, _) => "write after read",
        };
        let mut pcs = [at.pc, earlier.pc];
        pcs.sort_unstable();
        let key = Key { check: Check::Race, kind, pcs };
        let same_warp = (earlier.block, earlier.warp) == (self.block, at.warp);
        let help = if earlier.touch.asynchronous {
            "the copy may not have landed: wait for its group (and meet at a barrier, if another thread reads) first"
        } else if earlier.block != self.block {
            "nothing orders blocks of one launch: use an atomic, or a device fence and a flag, or a second launch"
        } else if same_warp {
            "lanes of a warp need not run together: put `warp::sync_warp` between the two"
        } else {
            "put `thread::sync_threads()` between the two"
        };
        let first = earlier.lanes.trailing_zeros();
        let (launched, block) = (self.launched, self.block);
        let sites = vec![
            self.site(verb(race.write, false), at.pc, block, at.warp, race.lane),
            self.site(
                verb(earlier.touch.write, earlier.touch.strong),
                earlier.pc,
                earlier.block,
                earlier.warp,
                first,
            ),
        ];
        let object = self.object(space, race.address);
        self.findings.note(key, || Finding {
            check: Check::Race,
            severity: Severity::Error,
            message: format!("race in {} memory: {kind}, and nothing orders the two", object.space),
            kernel: launched.kernel.clone(),
            object: Some(object),
            sites,
            help,
            count: 1,
        });
    }

    fn undefined(&mut self, at: At, space: Option<(MemorySpace, u64)>, decides: Decides, lanes: u32) {
        let kind = match decides {
            Decides::Address => "a value that was never written is used as an address",
            Decides::Guard => "a value that was never written decides a branch",
            Decides::Atomic => "an atomic operation meets memory that was never written",
        };
        let key = Key { check: Check::Init, kind, pcs: [at.pc, at.pc] };
        let site = self.site("use", at.pc, self.block, at.warp, lanes.trailing_zeros());
        let object = space.map(|(space, address)| self.object(space, address));
        let kernel = self.launched.kernel.clone();
        self.findings.note(key, || Finding {
            check: Check::Init,
            severity: Severity::Error,
            message: kind.to_owned(),
            kernel,
            object,
            sites: vec![site],
            help: "write the memory first: from the host, by an earlier kernel, or before the barrier that comes before the read",
            count: 1,
        });
    }

    fn barrier(&mut self, at: At, wrong: Wrong) {
        let (kind, lane, message, help) = match wrong {
            Wrong::Divergent { elsewhere } => (
                "divergent",
                elsewhere.trailing_zeros(),
                format!(
                    "barrier in divergent code: {} of the warp's threads are elsewhere",
                    elsewhere.count_ones()
                ),
                "every thread of the block must reach the same barrier: move it out of the branch",
            ),
            Wrong::NotMember { lanes } => (
                "not a member",
                lanes.trailing_zeros(),
                format!(
                    "lane {} executes a warp-wide instruction whose mask leaves it out",
                    lanes.trailing_zeros()
                ),
                "give the mask of all lanes that execute it: `warp::activemask()` before the branch, or `u32::MAX`",
            ),
            Wrong::Ended { lanes } => (
                "ended",
                lanes.trailing_zeros(),
                format!(
                    "the mask of a warp-wide instruction names lane {}, which has ended",
                    lanes.trailing_zeros()
                ),
                "do not return early from lanes that a later mask names",
            ),
        };
        let key = Key { check: Check::Barrier, kind, pcs: [at.pc, at.pc] };
        let here = self.site("barrier", at.pc, self.block, at.warp, at.lanes.trailing_zeros() & 31);
        let shape = &self.launched.shape;
        let other = shape.thread(at.warp, lane & 31);
        let kernel = self.launched.kernel.clone();
        self.findings.note(key, || Finding {
            check: Check::Barrier,
            severity: Severity::Error,
            message: format!("{message}, for example thread ({}, {}, {})", other[0], other[1], other[2]),
            kernel,
            object: None,
            sites: vec![here],
            help,
            count: 1,
        });
    }
}

impl BlockObserver for BlockCheck {
    const MEMORY: bool = true;
    const REGISTERS: bool = true;
    const SYNCHRONISATION: bool = true;

    fn registers(&mut self, at: At, reads: &[Register], writes: &[Register]) {
        let (mut reporter, _, init) = self.parts();
        if let Some(init) = init {
            init.registers(at, reads, writes, |decides, lanes| reporter.undefined(at, None, decides, lanes));
        }
    }

    fn access(&mut self, at: At, access: &Access<'_>) {
        let (mut reporter, races, init) = self.parts();
        let first = access.addresses[(access.lanes.trailing_zeros() & 31) as usize];
        if let Some(init) = init {
            init.access(at, access, |decides, lanes| {
                reporter.undefined(at, Some((access.space, first)), decides, lanes);
            });
        }
        if let Some(races) = races {
            races.access(at, access, |race| reporter.race(at, access.space, race));
        }
    }

    fn barrier(&mut self, at: At, barrier: u32, _threads: u32, step: BarrierStep, aligned: bool) {
        if let Some(races) = &mut self.races {
            races.barrier(at, barrier, step);
        }
        if step != BarrierStep::Leave {
            let wrong = self.barriers.as_ref().and_then(|barriers| barriers.barrier(at, aligned));
            self.wrong_barrier(at, wrong);
        }
    }

    fn fence(&mut self, at: At, _order: Order, scope: Scope) {
        if let Some(races) = &mut self.races {
            races.fence(at, scope);
        }
    }

    fn warp_sync(&mut self, at: At, members: u32, orders: bool) {
        if orders && let Some(races) = &mut self.races {
            races.warp_sync(at, members);
        }
        let wrong = self.barriers.as_ref().and_then(|barriers| barriers.warp_sync(at, members));
        self.wrong_barrier(at, wrong);
    }

    fn enter(&mut self, at: At, first: u32, end: u32) {
        if let Some(init) = &mut self.init {
            init.enter(at, first, end);
        }
    }

    fn exit(&mut self, at: At) {
        if let Some(barriers) = &mut self.barriers {
            barriers.exit(at);
        }
    }

    fn asynchronous(&mut self, at: At, event: &AsyncEvent<'_>) {
        let (mut reporter, races, init) = self.parts();
        match (init, event) {
            (Some(init), AsyncEvent::CopyStarted { shared, global, bytes }) => crate::race::lanes(at.lanes)
                .for_each(|l| init.copied(shared[l as usize], global[l as usize], *bytes)),
            (Some(init), &AsyncEvent::Moved { space, write: true, address, bytes }) => {
                init.moved(space, address, bytes);
            }
            _ => {}
        }
        let Some(races) = races else { return };
        match event {
            AsyncEvent::CopyStarted { shared, bytes, .. } => {
                races.copy_started(at, shared, *bytes, |race| reporter.race(at, MemorySpace::Shared, race));
            }
            AsyncEvent::GroupCommitted => races.group_committed(at),
            AsyncEvent::GroupsAwaited { pending } => races.groups_awaited(at, *pending),
            AsyncEvent::MbarrierArrive { addresses } => races.mbarrier_arrive(at, addresses),
            AsyncEvent::MbarrierComplete { addresses } => races.mbarrier_complete(at, addresses),
            _ => {}
        }
    }
}

/// A fault as a finding of the tool that is on for it.
fn of_fault(fault: &Fault, checks: Checks, kernel: &str) -> Option<Finding> {
    let (check, what, help) = match &fault.kind {
        FaultKind::IllegalAddress { .. } => (
            Check::Memory,
            "access",
            "compare the index with the length before the access; in Rust, index a slice",
        ),
        FaultKind::MisalignedAddress { .. } => {
            (Check::Memory, "access", "an access of n bytes needs an address that is a multiple of n")
        }
        FaultKind::HeapMisuse { .. } => (
            Check::Memory,
            "free",
            "free once what `malloc` gave in a kernel; the host frees what it allocated",
        ),
        FaultKind::WriteToConstant { .. } => (Check::Memory, "write", "write to a global buffer instead"),
        FaultKind::StackOverflow { .. } => {
            (Check::Memory, "call", "bound the recursion, or raise the stack limit")
        }
        FaultKind::Deadlock(_) => (
            Check::Barrier,
            "wait",
            "every thread that a barrier or mask names must come to it, or have ended",
        ),
        _ => return None,
    };
    let on = match check {
        Check::Memory => checks.memory,
        _ => checks.barrier,
    };
    on.then(|| Finding {
        check,
        severity: Severity::Error,
        message: fault.kind.to_string(),
        kernel: kernel.to_owned(),
        object: None,
        sites: vec![Site::new(what, fault.block, fault.thread, fault.location.clone())],
        help,
        count: 1,
    })
}
