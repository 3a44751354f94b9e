//! Asynchronous copies, the barriers that they complete on, and tensor maps.

use super::access::{AddressOperand, AtomicFunction, MemorySpace, SpaceOperand};
use super::registers::Slot;

/// What may be left out of a copy.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source {
    Whole,
    /// Bytes that are read; zeros follow.
    Size(Slot),
    /// A predicate under which all is zeros, and whether it is negated.
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
    /// Groups that may be under way; `None`: not even what is in no group yet.
    pub pending: Option<u32>,
}

/// `cp.async.mbarrier.arrive`: an arrival when the copies that the thread has issued so far have landed.
#[derive(Debug)]
pub(crate) struct ArriveOn {
    pub space: SpaceOperand,
    pub address: AddressOperand,
    /// Not `.noinc`: the arrival is not one of those that the barrier expects.
    pub one_more: bool,
}

/// What an instruction does with a barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Takes the count.
    Init,
    Invalidate,
    /// Takes the count of arrivals.
    Arrive,
    /// As [`Action::Arrive`], and the later phases expect as many fewer.
    ArriveDrop,
    /// Takes bytes.
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
    /// The state before; [`NONE`] for `_` and where there is none.
    pub state: Slot,
    /// A 32-bit number.
    pub count: Slot,
}

/// Which phase a test asks for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Phase {
    /// The one that was current when an arrival gave this state.
    State(Slot),
    /// The one of this parity.
    Parity(Slot),
}

/// `mbarrier.test_wait`, `mbarrier.try_wait`: whether a phase is complete.
///
/// Hardware may let a thread wait in `try_wait` for a while. Here the answer comes at once; if it is no, the other warps
/// have their turn first.
#[derive(Debug)]
pub(crate) struct Test {
    pub space: SpaceOperand,
    pub address: AddressOperand,
    pub phase: Phase,
    /// A predicate.
    pub target: Slot,
}

/// `mbarrier.pending_count`: the arrivals that were pending when a state was taken.
#[derive(Debug)]
pub(crate) struct PendingCount {
    pub state: Slot,
    pub target: Slot,
}

/// An element-wise operation on what is there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reduction {
    pub function: AtomicFunction,
    /// Bytes of an element: 2, 4 or 8.
    pub width: u32,
}

/// Where a copy into shared memory goes.
#[derive(Debug)]
pub(crate) struct Landing {
    pub target: AddressOperand,
    pub barrier: AddressOperand,
    /// Blocks of the cluster that get a copy each: a 16-bit mask.
    pub blocks: Option<Slot>,
}

/// What a bulk copy without a tensor map does.
#[derive(Debug)]
pub(crate) enum LinearTarget {
    /// From global memory, or from the block's shared memory, to shared memory.
    Shared { landing: Landing, from: MemorySpace },
    /// From the block's shared memory to global memory. The mask says which bytes of each 16.
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

/// `cp.async.bulk.commit_group`, `cp.async.bulk.wait_group`: what leaves shared memory has left it when it was issued.
#[derive(Debug)]
pub(crate) enum BulkGroup {
    Commit,
    Wait {
        /// Groups that may be under way.
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
    /// Bytes of an element: 4 or 8.
    pub width: u32,
    pub reduction: Option<Reduction>,
}

/// The map and the coordinates of a box.
#[derive(Debug)]
pub(crate) struct TensorBox {
    pub space: SpaceOperand,
    pub map: AddressOperand,
    pub coordinates: Box<[Slot]>,
    /// The copy is of pixels; what it adds to each, of 16 bits.
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

/// A reduction whose type the tensor map gives.
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

/// What is replaced; the number is that of the dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    Address,
    /// Takes the rank less one.
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
    /// Of 64 bits for addresses and strides, else of 32.
    pub value: Slot,
}

/// `tensormap.cp_fenceproxy`: copies a map of 128 bytes from shared to global memory, by the warp together.
#[derive(Debug)]
pub(crate) struct Publish {
    pub target: AddressOperand,
    pub source: AddressOperand,
}

/// `barrier.cluster.arrive`, `barrier.cluster.wait`
#[derive(Debug)]
pub(crate) struct BarrierCluster {
    pub wait: bool,
    /// An arrival that is not `.relaxed`.
    pub releases: bool,
}
