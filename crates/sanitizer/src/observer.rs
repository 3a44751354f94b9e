//! The observer that runs the checks beside a launch.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use virtual_gpu::memory::window::SHARED_OFFSET_BITS;
use virtual_gpu::observer::{
    Access, AccessKind, AsyncEvent, At, BarrierStep, BlockInfo, Carrier, Entered, LaunchInfo, MemorySpace,
    Operands, Order, Register, Scope, Undefined,
};
use virtual_gpu::{BlockObserver, Code, Fault, LaunchObserver, SharedArray};

use crate::barrier::BlockBarriers;
use crate::carried::Part;
use crate::checks::Checks;
use crate::cluster::{Room, Teams, named, renamed};
use crate::finding::{Finding, Findings};
use crate::init::{BlockInit, Decides};
use crate::objects::Objects;
use crate::place::{self, Shape};
use crate::products::Products;
use crate::race::{BlockRaces, Doubt, GlobalRaces, Source};
use crate::reached::Reached;
use crate::report::{Reporter, of_fault};
use crate::shadow::Spare;
use crate::streams;
use crate::written::Written;

/// Watches one launch. Made by [`crate::Sanitizer::launch`].
#[derive(Debug)]
pub struct LaunchCheck {
    pub(crate) checks: Checks,
    pub(crate) objects: Arc<Objects>,
    pub(crate) written: Arc<Mutex<Written>>,
    pub(crate) report: Arc<Mutex<Vec<Finding>>>,
    pub(crate) faulted: Arc<AtomicBool>,
    pub(crate) races: Arc<Mutex<GlobalRaces>>,
    pub(crate) spare: Spare,
    pub(crate) teams: Option<Teams>,
    pub(crate) launch: Option<Arc<Launched>>,
    pub(crate) findings: Findings,
    /// Most bytes that shadows of one block took.
    pub(crate) block_bytes: usize,
}

/// What every block needs to name things in a report.
#[derive(Debug)]
pub(crate) struct Launched {
    pub kernel: String,
    pub shape: Shape,
    pub code: Arc<Code>,
    pub function: u32,
    pub shared_bytes: u32,
    pub reserved: Range<u32>,
    pub shared: Vec<Option<SharedArray>>,
}

impl LaunchCheck {
    /// Bytes of shadow that the launch took beside what the program's own memory takes: of global memory for races, and
    /// the most of one block.
    pub fn shadow_bytes(&self) -> (usize, usize) {
        (self.races.lock().unwrap_or_else(PoisonError::into_inner).bytes(), self.block_bytes)
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
        self.launch = Some(Arc::new(Launched {
            kernel: launch.kernel.clone(),
            shape: Shape::new(launch),
            code: launch.code.clone(),
            function: launch.function,
            shared_bytes: launch.shared_bytes,
            reserved: launch.reserved.clone(),
            shared: launch.shared.clone(),
        }));
    }

    fn block(&self, block: &BlockInfo) -> BlockCheck {
        let linear = place::linear(block);
        let launched = self.launch.clone().expect("`begin` comes before the first block");
        let code = launched.code.clone();
        let member = self.teams.as_ref().map(|teams| teams.member(block, &self.spare));
        BlockCheck {
            objects: self.objects.clone(),
            block: linear,
            rank: member.as_ref().map(|member| member.rank),
            memory: self.checks.memory,
            races: self
                .checks
                .race
                .then(|| BlockRaces::new(linear, block.threads, member.clone(), self.races.clone())),
            init: self.checks.init.then(|| {
                let written = self.written.clone();
                let mut init = BlockInit::new(code, launched.function, block.threads, member, written);
                init.shared_is_defined(&launched.reserved);
                init
            }),
            products: Products::default(),
            barriers: self.checks.barrier.then(|| BlockBarriers::new(block.threads)),
            launched,
            findings: Findings::default(),
        }
    }

    fn merge(&mut self, mut block: BlockCheck) {
        let bytes = block.races.as_mut().map_or(0, BlockRaces::bytes)
            + block.init.as_mut().map_or(0, BlockInit::bytes);
        self.block_bytes = self.block_bytes.max(bytes);
        self.findings.merge(block.findings);
    }

    fn end(&mut self, launch: &LaunchInfo, fault: Option<&Fault>) {
        if let (true, Some(launched)) = (self.checks.race, &self.launch) {
            streams::launched(launched, &self.races);
            let doubts = self.races.lock().unwrap_or_else(PoisonError::into_inner).take_doubts();
            for Doubt { at, block, space, race, .. } in doubts {
                let (objects, findings) = (&self.objects, &mut self.findings);
                let mut reporter = Reporter { launched, objects, block, findings };
                reporter.race(at, space, race, !race.write);
            }
        }
        let mut found = std::mem::take(&mut self.findings).into_vec();
        if let Some(fault) = fault {
            self.faulted.store(true, Ordering::Relaxed);
            found.extend(of_fault(fault, self.checks, &launch.kernel, &self.objects));
        }
        self.report.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
    }
}

/// Watches one block.
#[derive(Debug)]
pub struct BlockCheck {
    launched: Arc<Launched>,
    objects: Arc<Objects>,
    block: u32,
    /// Its rank, in a cluster.
    rank: Option<u32>,
    memory: bool,
    races: Option<BlockRaces>,
    products: Products,
    init: Option<BlockInit>,
    barriers: Option<BlockBarriers>,
    findings: Findings,
}

impl BlockCheck {
    fn parts(
        &mut self,
    ) -> (Reporter<'_>, &mut Option<BlockRaces>, &mut Option<BlockInit>, &mut Option<BlockBarriers>) {
        let reporter = Reporter {
            launched: &self.launched,
            objects: &self.objects,
            block: self.block,
            findings: &mut self.findings,
        };
        (reporter, &mut self.races, &mut self.init, &mut self.barriers)
    }

    /// An access for those tools to which a cluster's blocks are one.
    fn check(&mut self, at: At, access: &Access<'_>, reached: &Reached) {
        let (mut reporter, races, init, barriers) = self.parts();
        if let Some(barriers) = barriers {
            barriers.access(at);
        }
        let first = access.addresses[(access.lanes.trailing_zeros() & 31) as usize];
        if let Some(init) = init {
            init.access(at, access, reached, |decides, lanes| {
                reporter.undefined(at, Some((access.space, first)), decides, lanes);
            });
        }
        if let Some(races) = races {
            let strong = access.order != Order::Weak
                || matches!(access.kind, AccessKind::Atomic | AccessKind::Reduction);
            races.access(at, access, reached, |race| reporter.race(at, access.space, race, strong));
        }
    }

    /// An access to shared memory outside the array that its address was made from.
    fn check_array(&mut self, at: At, access: &Access<'_>, reached: &Reached) {
        let launched = &self.launched;
        let Some(array) = launched.code.shared_of(at.pc).and_then(|of| launched.shared[of].as_ref()) else {
            return;
        };
        let (start, end) = (u64::from(array.offset), u64::from(array.offset) + u64::from(array.size));
        if start <= reached.low && reached.end <= end {
            return;
        }
        let bytes = u64::from(access.bytes());
        let outside = |lane: usize| {
            let address = access.addresses[lane];
            access.lanes >> lane & 1 != 0 && (address < start || address.saturating_add(bytes) > end)
        };
        if let Some(lane) = (0..32).find(|&lane| outside(lane)) {
            // Beyond the block's shared memory the launch ends with a fault, which is reported as such.
            if access.addresses[lane].saturating_add(bytes) <= u64::from(launched.shared_bytes) {
                let array = array.clone();
                self.parts().0.outside_array(at, access, lane as u32, &array);
            }
        }
    }
}

impl BlockObserver for BlockCheck {
    const MEMORY: bool = true;
    const REGISTERS: bool = true;
    const SYNCHRONISATION: bool = true;
    const YIELDS: bool = true;

    #[inline]
    fn guard(&mut self, at: At, predicate: Register) {
        if let Some(init) = &mut self.init {
            let undefined = init.guard(at, predicate);
            if undefined != 0 {
                self.parts().0.undefined(at, None, Decides::Guard, undefined);
            }
        }
    }

    #[inline]
    fn follows(&self, warp: u32) -> bool {
        self.init.as_ref().is_some_and(|init| init.follows(warp)) || self.products.follows(warp)
    }

    #[inline]
    fn registers(&mut self, at: At, reads: &[Register], writes: &[Register], operands: &Operands<'_>) {
        if self.products.follows(at.warp)
            && let Some(opcode) = self.launched.code.opcode(at.pc)
            && self.products.looks(at.warp, opcode, reads, writes)
        {
            self.parts().0.result_too_early(at);
        }
        if let Some(init) = &mut self.init
            && init.follows(at.warp)
            && let Some((decides, lanes)) = init.registers(at, reads, writes, operands)
        {
            self.parts().0.undefined(at, None, decides, lanes);
        }
    }

    fn access(&mut self, at: At, access: &Access<'_>) {
        if access.lanes == 0 {
            return;
        }
        let reached = Reached::of(access);
        if self.memory && access.space == MemorySpace::Shared {
            self.check_array(at, access, &reached);
        }
        if access.space == MemorySpace::Shared
            && (self.rank.is_some() || reached.end >> SHARED_OFFSET_BITS != 0)
        {
            let addresses = access.addresses.map(|address| named(self.rank, address));
            let access = Access { addresses: &addresses, ..*access };
            return self.check(at, &access, &Reached::of(&access));
        }
        self.check(at, access, &reached);
    }

    fn barrier(&mut self, at: At, barrier: u32, threads: u32, step: BarrierStep, aligned: bool) {
        let code = self.launched.code.clone();
        let (mut reporter, races, _, barriers) = self.parts();
        if let Some(races) = races {
            races.barrier(at, barrier, step);
        }
        if let Some(barriers) = barriers
            && let Some(wrong) = barriers.barrier(at, (barrier, threads), step, aligned, &code)
        {
            reporter.barrier(at, wrong);
        }
    }

    fn fence(&mut self, at: At, _order: Order, scope: Scope) {
        if let Some(races) = &mut self.races {
            races.fence(at, scope);
        }
    }

    fn warp_sync(&mut self, at: At, members: u32, orders: bool) {
        let code = self.launched.code.clone();
        let (mut reporter, races, _, barriers) = self.parts();
        if let Some(races) = races {
            match orders {
                true => races.warp_sync(at, members),
                false => races.warp_exchanged(at, members),
            }
        }
        if let Some(barriers) = barriers
            && let Some(wrong) = barriers.warp_sync(at, members, &code)
        {
            reporter.barrier(at, wrong);
        }
    }

    fn shuffled(&mut self, at: At, target: Option<Register>, value: Option<Register>, sources: &[u8; 32]) {
        if let (Some(init), Some(target)) = (&mut self.init, target) {
            init.shuffled(at, target, value, sources);
        }
    }

    fn enter(&mut self, at: At, frame: &Entered) {
        if let Some(init) = &mut self.init {
            init.enter(at, frame);
        }
    }

    fn passed(&mut self, at: At, from: Carrier, to: Carrier, bytes: u32) {
        if let Some(init) = &mut self.init {
            init.passed(at, from, to, bytes);
        }
    }

    fn heap_allocated(&mut self, _at: At, address: u64, bytes: u64) {
        self.objects.allocated(address, bytes, Some("malloc in a kernel"), false);
        if let Some(init) = &self.init {
            init.heap_allocated(address, bytes);
        }
        if let Some(races) = &self.races {
            races.heap_allocated(address, bytes);
        }
    }

    fn heap_freed(&mut self, _at: At, address: u64) {
        self.objects.freed(address);
    }

    fn printed(&mut self, at: At, space: MemorySpace, address: u64, bytes: u32) {
        if let Some(init) = &mut self.init
            && init.prints(at, space, address, bytes)
        {
            self.parts().0.undefined(at, None, Decides::Print, at.lanes);
        }
    }

    fn exit(&mut self, at: At) {
        let (mut reporter, races, _, barriers) = self.parts();
        if let Some(races) = races {
            races.exit(at).into_iter().for_each(|late| reporter.block_gone(&late));
        }
        if let Some(barriers) = barriers {
            barriers.exit(at);
        }
    }

    fn undefined(&mut self) -> Option<&mut dyn Undefined> {
        if self.init.is_some() { Some(self) } else { None }
    }

    fn asynchronous(&mut self, at: At, event: &AsyncEvent<'_>) {
        let mut room = Room::default();
        let event = &renamed(event, self.rank, &mut room);
        if self.races.is_some() {
            self.products.follow(at.warp, event);
        }
        let (mut reporter, races, init, _) = self.parts();
        match (init, event) {
            (Some(init), AsyncEvent::CopyStarted { shared, global, bytes, read }) => {
                for lane in crate::race::lanes(at.lanes) {
                    let lane = lane as usize;
                    init.copied(shared[lane], global[lane], *bytes, read[lane]);
                }
            }
            (Some(init), &AsyncEvent::Moved { space, write: false, address, bytes, within, swizzle, .. }) => {
                init.bulk_read(at, space, &Part { address, bytes, within, swizzle });
            }
            // What comes into shared memory was told when it was issued.
            (
                Some(init),
                &AsyncEvent::Moved {
                    space: MemorySpace::Global,
                    write: true,
                    address,
                    bytes,
                    within,
                    swizzle,
                    reduces,
                },
            ) => {
                let part = Part { address, bytes, within, swizzle };
                if init.bulk_written(at, MemorySpace::Global, &part, reduces) {
                    reporter.undefined(at, Some((MemorySpace::Global, address)), Decides::Atomic, at.lanes);
                }
            }
            (Some(init), &AsyncEvent::BulkStarted { address, bytes, reduces, swizzle, .. }) => {
                let part = Part { address, bytes, within: 0, swizzle };
                if init.bulk_written(at, MemorySpace::Shared, &part, reduces) {
                    reporter.undefined(at, Some((MemorySpace::Shared, address)), Decides::Atomic, at.lanes);
                }
            }
            _ => {}
        }
        let Some(races) = races else { return };
        match *event {
            AsyncEvent::CopyStarted { shared, global, bytes, read } => {
                let source = |lane: u32| Source { address: global[lane as usize], read: read[lane as usize] };
                races.copy_started(at, shared, bytes, source, |race| {
                    reporter.race(at, MemorySpace::Shared, race, false)
                });
            }
            AsyncEvent::GroupCommitted => races.group_committed(at),
            AsyncEvent::GroupsAwaited { pending } => races.groups_awaited(at, pending),
            AsyncEvent::CopiesTied { barrier, parity } => races.copies_tied(at, barrier, parity),
            AsyncEvent::BulkStarted { address, bytes, barrier, .. } => {
                races.bulk_started(at, address, bytes, barrier, |race| {
                    reporter.race(at, MemorySpace::Shared, race, false);
                });
            }
            AsyncEvent::Moved { space: MemorySpace::Shared, write: true, address, bytes, .. } => {
                races.bulk_landed(address, bytes);
            }
            AsyncEvent::Moved { space, write, reduces, address, bytes, within, .. } => {
                races.bulk_moved(at, space, (write, reduces), (address, bytes), within, |race| {
                    reporter.race(at, space, race, reduces)
                });
            }
            AsyncEvent::BulkTaken { address, bytes } => races.bulk_taken(at, address, bytes),
            AsyncEvent::ClusterArrive { parity, releases } => races.cluster_arrive(at, parity, releases),
            AsyncEvent::ClusterComplete { parity } => races.cluster_complete(at, parity),
            AsyncEvent::BulkGroupCommitted => races.bulk_group_committed(at),
            AsyncEvent::BulkGroupsAwaited { pending, written } => {
                races.bulk_groups_awaited(at, pending, written)
            }
            AsyncEvent::ProxyFence => races.proxy_fence(at),
            AsyncEvent::ProductIssued { pieces, .. } => {
                races.product_issued(at, pieces, |race| reporter.race(at, MemorySpace::Shared, race, false))
            }
            AsyncEvent::ProductsCommitted => races.products_committed(at),
            AsyncEvent::ProductsAwaited { pending } => races.products_awaited(at, pending),
            AsyncEvent::MbarrierMade { addresses } => {
                races
                    .mbarrier_made(at, addresses, |race| reporter.race(at, MemorySpace::Shared, race, false));
            }
            AsyncEvent::MbarrierAsked { addresses } => {
                races.mbarrier_used(at, addresses, false, |race| {
                    reporter.race(at, MemorySpace::Shared, race, false)
                });
            }
            AsyncEvent::MbarrierArrive { addresses, parity } => {
                races.mbarrier_used(at, addresses, true, |race| {
                    reporter.race(at, MemorySpace::Shared, race, false)
                });
                races.mbarrier_arrive(at, addresses, parity);
            }
            AsyncEvent::MbarrierComplete { addresses, parity } => {
                races.mbarrier_complete(at, addresses, parity);
            }
            _ => {}
        }
    }
}

/// Of a block with the initialisation check on.
impl Undefined for BlockCheck {
    fn has_some(&self, warp: u32) -> bool {
        self.init.as_ref().is_some_and(|init| init.follows(warp))
    }

    fn of_register(&self, warp: u32, register: Register) -> [u64; 32] {
        self.init.as_ref().map_or([0; 32], |init| init.of_register(warp, register))
    }

    fn set_register(&mut self, at: At, register: Register, undefined: &[u64; 32]) {
        if let Some(init) = &mut self.init {
            init.set_register(at, register, undefined);
        }
    }

    fn of_memory(&mut self, space: MemorySpace, address: u64, bytes: u32) -> u128 {
        self.init.as_mut().map_or(0, |init| init.of_memory(space, address, bytes))
    }

    fn set_memory(&mut self, space: MemorySpace, address: u64, bytes: u32, undefined: u128) {
        if let Some(init) = &mut self.init {
            init.set_memory(space, address, bytes, undefined);
        }
    }

    fn is_address(&mut self, at: At, register: Register) {
        let undefined = self.init.as_ref().map_or(0, |init| init.undefined_lanes(at, register));
        if undefined != 0 {
            self.parts().0.undefined(at, None, Decides::Address, undefined);
        }
    }
}
