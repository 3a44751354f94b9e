//! State of a block that its warps' operations reach.

use super::extension::ExtensionState;
use super::phase_wait::PhaseWaits;
use super::schedule::{Change, Changes};
use super::spin::Watch;
use crate::fault::Fault;
use crate::form::access::{Order, SpaceOperand};
use crate::form::op::MemoryOp;
use crate::matrix::Buffers;
use crate::observer::{At, MemorySpace, Scope};

/// State that the operations of a block's warps share, apart from the warps themselves.
#[derive(Debug, Default)]
pub(crate) struct BlockState {
    pub index: [u32; 3],
    pub linear: u64,
    pub cluster_rank: u32,
    /// Operations that warps of this block had run at the start of its slice: clocks go on from there.
    pub age: u64,
    /// Counts what others may wait for: stores, atomics that changed something, barriers that opened.
    pub progress: u64,
    /// Looks closer at what the warps do, when nothing was written for long.
    pub watch: Option<Box<Watch>>,
    /// Tests of `mbarrier`s that failed in the block's slice.
    pub failed_tests: u32,
    /// Looks at such tests, when a slice did nothing else.
    pub phase_waits: Option<Box<PhaseWaits>>,
    /// A volatile or ordered store told others something, under an observer that wants them to hear it at once.
    pub told: bool,
    /// The schedule interrupted it, and it is to go behind all other blocks.
    pub behind: bool,
    /// How many such stores there were; `None` in schedules that have interruptions of their own.
    pub tellings: Option<u32>,
    /// The interruptions of the schedule, if it has some.
    pub changes: Option<Changes>,
    /// Whether the block has one warp only.
    pub one_warp: bool,
    /// The kernel's output.
    pub output: Vec<u8>,
    pub extensions: ExtensionState,
    /// Memory for matrix products.
    pub products: Buffers,
    pub barriers: [Barrier; 16],
    /// Those at which some threads have arrived, a bit each.
    pub awaited: u32,
    /// The first access that went wrong and that its lane went on without.
    pub skipped: Option<Box<Fault>>,
}

impl BlockState {
    /// Whether the schedule interrupts the warp, or the whole block, behind an access or a fence.
    #[inline(always)]
    pub fn is_interrupted(&mut self, at: At, order: Order) -> bool {
        self.changes.is_some() && self.passes(at, order)
    }

    /// Begins a slice of the block.
    pub fn watch_phases(&mut self) {
        self.failed_tests = 0;
        if let Some(waits) = &mut self.phase_waits {
            waits.begin();
        }
    }

    /// Ends a slice that began at this `progress`: the next is watched if this one was spent on tests that failed. Blocks of a
    /// cluster are not: others complete their phases.
    pub fn phases_watched(&mut self, progress: u64, in_cluster: bool) {
        if in_cluster || self.progress != progress || self.failed_tests == 0 {
            self.phase_waits = None;
        } else {
            self.phase_waits.get_or_insert_default();
        }
    }

    /// Something changed that lanes waiting on an `mbarrier` could see, or that makes them go on.
    #[inline(always)]
    pub fn phases_may_end(&mut self) {
        if let Some(waits) = &mut self.phase_waits {
            waits.changed();
        }
    }

    fn passes(&mut self, at: At, order: Order) -> bool {
        let strong = order != Order::Weak;
        let change = self.changes.as_mut().and_then(|changes| changes.pass(at.warp, at.pc, strong));
        let block = change == Some(Change::Blocks) || change.is_some() && self.one_warp;
        self.told |= block;
        self.behind |= block;
        change.is_some()
    }

    /// Whether a volatile or ordered store ends the slice: every other one, more or less. After
    /// all, or after none, a queue would always be empty, or always full.
    pub fn tells(&mut self, store: &MemoryOp) -> bool {
        let Some(tellings) = &mut self.tellings else { return false };
        *tellings = tellings.wrapping_add(1);
        let tells = tellings.wrapping_mul(0x9e37_79b9) >> 31 != 0;
        let shared = store.space == SpaceOperand::In(MemorySpace::Shared);
        self.told |= tells && store.scope > Scope::Block && !shared;
        tells
    }
}

/// One of a block's barriers.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Barrier {
    /// Threads that have arrived, counted by whole warps.
    pub arrived: u32,
    pub threads: u32,
    /// Of the threads that brought a predicate: how many, and how many said yes.
    pub asked: u32,
    pub yes: u32,
}

impl Barrier {
    /// Threads that it waits for, in a block with this many warps that have not exited.
    pub fn expected(&self, warps: u32) -> u32 {
        if self.threads == 0 { warps * 32 } else { self.threads }
    }

    /// Whether all have arrived.
    pub fn is_complete(&self, warps: u32) -> bool {
        self.arrived > 0 && self.arrived >= self.expected(warps)
    }
}
