//! Asynchronous copies, the barriers that signal their completion, and tensor maps.

use super::access::{AddressOperand, AtomicFunction, MemorySpace, SpaceOperand};
use super::registers::Slot;

/// The operand with which a copy reads less than it writes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source {
    Whole,
    /// How many bytes are read; the rest is zeros.
    Size(Slot),
    /// A predicate that turns everything into zeros, and whether it is negated.
    Ignore(Slot, bool),
}

/// `cp.async.ca`, `cp.async.cg`
#[derive(Debug)]
pub(crate) struct CopyAsync {
    pub target: AddressOperand,
    pub source: AddressOperand,
    pub bytes: u32,
    pub read: Source,
}

/// `cp.async.commit_group`
#[derive(Debug)]
pub(crate) struct CommitGroup;

/// `cp.async.wait_group n`, or `cp.async.wait_all`.
#[derive(Debug)]
pub(crate) struct WaitGroups {
    /// How many groups may still be in flight. `None` also waits for copies not yet in a group.
    pub pending: Option<u32>,
}

/// `cp.async.mbarrier.arrive`: arrives when the copies the thread has issued so far have landed.
#[derive(Debug)]
pub(crate) struct ArriveOn {
    pub space: SpaceOperand,
    pub address: AddressOperand,
    /// Without `.noinc`: this arrival is in addition to those the barrier expects.
    pub one_more: bool,
}

/// An operation on an mbarrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// The operand is the expected count.
    Init,
    Invalidate,
    /// The operand is the number of arrivals.
    Arrive,
    /// Like [`Action::Arrive`], and later phases expect that many fewer arrivals.
    ArriveDrop,
    /// The operand is a number of bytes.
    ArriveExpect,
    ArriveDropExpect,
    Expect,
    Complete,
}

/// `mbarrier.init`, `.inval`, `.arrive`, `.arrive_drop`, `.expect_tx`, `.complete_tx`
#[derive(Debug)]
pub(crate) struct Update {
    pub action: Action,
    pub space: SpaceOperand,
    pub address: AddressOperand,
    /// Receives the state before; [`NONE`] for `_` and forms without one.
    pub state: Slot,
    /// A 32-bit register.
    pub count: Slot,
}

/// The phase that a test asks about.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Phase {
    /// The one that was current when an arrival returned this state.
    State(Slot),
    /// The one with this parity.
    Parity(Slot),
}

/// `mbarrier.test_wait`, `mbarrier.try_wait`: whether a phase is complete.
///
/// Hardware may suspend a thread in `try_wait` for a while. Here the answer is immediate; if it is no, the other warps
/// run first.
#[derive(Debug)]
pub(crate) struct Test {
    pub space: SpaceOperand,
    pub address: AddressOperand,
    pub phase: Phase,
    /// A predicate register.
    pub target: Slot,
}

/// `mbarrier.pending_count`: how many arrivals were pending when a state was captured.
#[derive(Debug)]
pub(crate) struct PendingCount {
    pub state: Slot,
    pub target: Slot,
}

/// An element-wise operation on the destination.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reduction {
    pub function: AtomicFunction,
    /// Bytes per element: 2, 4 or 8.
    pub width: u32,
}

/// The destination of a copy into shared memory.
#[derive(Debug)]
pub(crate) struct Landing {
    pub target: AddressOperand,
    pub barrier: AddressOperand,
    /// A 16-bit mask of blocks of the cluster, each of which receives a copy.
    pub blocks: Option<Slot>,
}

/// The direction of a bulk copy without a tensor map.
#[derive(Debug)]
pub(crate) enum LinearTarget {
    /// From global memory, or from the block's shared memory, to shared memory.
    Shared { landing: Landing, from: MemorySpace },
    /// From the block's shared memory to global memory. The mask selects bytes of each 16.
    Global { target: AddressOperand, mask: Option<Slot>, multimem: bool },
}

/// `cp.async.bulk`, `cp.reduce.async.bulk`
#[derive(Debug)]
pub(crate) struct Linear {
    pub to: LinearTarget,
    pub source: AddressOperand,
    pub bytes: Slot,
    pub reduction: Option<Reduction>,
}

/// `cp.async.bulk.commit_group`, `cp.async.bulk.wait_group`: copies out of shared memory are already complete when
/// issued.
#[derive(Debug)]
pub(crate) enum BulkGroup {
    Commit,
    Wait {
        /// How many groups may still be in flight.
        pending: u32,
        /// Without `.read`.
        written: bool,
    },
}

/// `st.async`, `red.async`: a few bytes from registers to a block of the cluster.
#[derive(Debug)]
pub(crate) struct StoreAsync {
    pub landing: Landing,
    pub data: Box<[Slot]>,
    /// Bytes per element: 4 or 8.
    pub width: u32,
    pub reduction: Option<Reduction>,
}

/// The tensor map and the coordinates of a box.
#[derive(Debug)]
pub(crate) struct TensorBox {
    pub space: SpaceOperand,
    pub map: AddressOperand,
    pub coordinates: Box<[Slot]>,
    /// For im2col copies: the 16-bit offsets added to each pixel's position.
    pub im2col: Option<Box<[Slot]>>,
}

/// `cp.async.bulk.tensor` into shared memory
#[derive(Debug)]
pub(crate) struct TensorLoad {
    pub source: TensorBox,
    pub landing: Landing,
}

/// `cp.async.bulk.tensor` and `cp.reduce.async.bulk.tensor` out of shared memory
#[derive(Debug)]
pub(crate) struct TensorStore {
    pub target: TensorBox,
    pub source: AddressOperand,
    pub reduction: Option<ReductionKind>,
}

/// A reduction whose type comes from the tensor map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReductionKind {
    Add,
    Min,
    Max,
    Increment,
    Decrement,
    And,
    Or,
    Xor,
}

/// The field to replace; the number is that of the dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    Address,
    /// The operand is the rank minus one.
    Rank,
    BoxDim(usize),
    Dim(usize),
    Stride(usize),
    ElementStride(usize),
    ElementType,
    Interleave,
    Swizzle,
    Fill,
}

/// `tensormap.replace`
#[derive(Debug)]
pub(crate) struct Replace {
    pub space: SpaceOperand,
    pub map: AddressOperand,
    pub field: Field,
    /// 64 bits for addresses and strides, else 32.
    pub value: Slot,
}

/// `tensormap.cp_fenceproxy`: the warp together copies a map of 128 bytes from shared to global memory.
#[derive(Debug)]
pub(crate) struct Publish {
    pub target: AddressOperand,
    pub source: AddressOperand,
}

/// `barrier.cluster.arrive`, `barrier.cluster.wait`
#[derive(Debug)]
pub(crate) struct BarrierCluster {
    pub wait: bool,
    /// The arrival is not `.relaxed`.
    pub releases: bool,
}
