//! The decoded form of instructions, which the executor runs.

use std::sync::Arc;

use super::access::{AccessKind, AddressOperand, AtomicFunction, Order, Scope, SpaceOperand};
use super::arithmetic::Arithmetic;
use super::extension::Extension;
use super::registers::{NONE, Slot};
use super::signature::Passed;

/// One operation of a program.
pub(crate) struct Op {
    pub guard: Guard,
    pub kind: OpKind,
}

/// `@p` or `@!p`.
#[derive(Debug, Clone, Copy)]
pub struct Guard {
    /// The predicate; [`NONE`] if the operation always runs.
    pub slot: Slot,
    /// All ones for `@!p`.
    pub invert: u32,
}

impl Guard {
    pub const ALWAYS: Guard = Guard { slot: NONE, invert: 0 };
}

/// The kinds of operations.
pub(crate) enum OpKind {
    /// The same in every lane, registers only.
    Alu(Box<Arithmetic>),
    Load(Box<MemoryOp>),
    Store(Box<MemoryOp>),
    Atomic(Box<AtomicOp>),
    /// A kernel parameter at a known offset: the same for all lanes.
    LoadParam(Box<ParamOp>),
    Branch {
        target: u32,
    },
    /// Not an instruction of the text: connects two blocks that are not adjacent.
    Jump {
        target: u32,
    },
    BranchIndexed {
        index: Slot,
        /// Shared by all branches that use the same table.
        targets: Arc<[u32]>,
    },
    Call(Box<CallOp>),
    Return,
    Exit,
    Trap,
    Breakpoint,
    Barrier(Box<BarrierOp>),
    /// Instructions with a member mask.
    Collective(Box<CollectiveOp>),
    Fence {
        order: Order,
        scope: Scope,
        /// Whether it also orders plain accesses and those of bulk copies and `wgmma`.
        proxies: bool,
    },
    /// A special register whose value changes while the warp runs.
    Special {
        target: Slot,
        which: DynamicSpecial,
    },
    /// Ends the slice, and does nothing else (`nanosleep`).
    Yield,
    Nop,
    System(Box<SystemOp>),
    Extension(Box<Extension>),
}

impl OpKind {
    /// An instruction of a special kind.
    pub fn extension(made: impl Into<Extension>) -> Self {
        OpKind::Extension(Box::new(made.into()))
    }
}

/// `ld`, `st`.
#[derive(Debug)]
pub struct MemoryOp {
    pub space: SpaceOperand,
    pub address: AddressOperand,
    /// Bytes of one element: 1, 2, 4, 8, 16.
    pub width: u32,
    /// A loaded element is sign-extended to its register.
    pub signed: bool,
    /// Rows of the registers: 1, 2 or 4.
    pub rows: u32,
    /// One register an element; [`NONE`] for `_`.
    pub data: Box<[Slot]>,
    pub order: Order,
    pub scope: Scope,
    pub non_coherent: bool,
    /// The address is a multicast address.
    pub multimem: bool,
    /// Bytes that a load uses, from bit 0 on: all, but for one that the compiler has widened.
    pub used: u32,
}

/// Of an access that uses all of its bytes.
pub const ALL_BYTES: u32 = u32::MAX;

/// `ld.param` of a kernel at a known offset.
#[derive(Debug)]
pub struct ParamOp {
    pub offset: u32,
    pub width: u32,
    pub signed: bool,
    pub rows: u32,
    pub data: Box<[Slot]>,
}

/// `atom`, `red`.
#[derive(Debug)]
pub struct AtomicOp {
    pub space: SpaceOperand,
    pub address: AddressOperand,
    pub function: AtomicFunction,
    /// Bytes: 2, 4, 8, 16.
    pub width: u32,
    /// Receive the old values, one per element; [`NONE`] for `red` and `_`.
    pub targets: Box<[Slot]>,
    /// Operands, one per element.
    pub operands: Box<[Slot]>,
    /// The new value of `cas`.
    pub swap: Slot,
    pub kind: AccessKind,
    pub order: Order,
    pub scope: Scope,
    /// Adds the constant 1 and ignores the result: the chip counts the lanes that share a word and adds once.
    pub counts: bool,
    /// The address is a multicast address.
    pub multimem: bool,
}

/// `call`: where the caller has the arguments and wants the results; the callee's signature says where they go and come
/// from.
#[derive(Debug)]
pub(crate) struct CallOp {
    pub callee: Callee,
    pub arguments: Box<[Passed]>,
    pub results: Box<[Passed]>,
}

/// The target of a `call`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Callee {
    /// Index into the program's functions.
    Direct(u32),
    /// Through a 64-bit register.
    Indirect(Slot),
}

/// The kinds of block barrier instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BarrierKind {
    Sync,
    Arrive,
    ReducePopc,
    ReduceAnd,
    ReduceOr,
}

/// `bar`, `barrier.cta`.
#[derive(Debug)]
pub(crate) struct BarrierOp {
    pub kind: BarrierKind,
    pub id: Slot,
    /// [`NONE`] for all threads of the block.
    pub threads: Slot,
    pub aligned: bool,
    pub target: Slot,
    pub predicate: Slot,
    pub invert: bool,
}

impl BarrierOp {
    /// Whether it is for all threads of the block and only waits.
    pub fn is_plain(&self) -> bool {
        self.kind == BarrierKind::Sync && self.threads == NONE && self.predicate == NONE
    }
}

/// The function of an instruction with a member mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CollectiveKind {
    WarpSync,
    Shuffle(ShuffleMode),
    VoteAll,
    VoteAny,
    VoteUni,
    Ballot,
    MatchAny { rows: u32 },
    MatchAll { rows: u32 },
    Redux(crate::alu::atomic::Redux),
    ReduxF32 { max: bool, abs: bool, nan: bool },
    Elect,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShuffleMode {
    Up,
    Down,
    Butterfly,
    Index,
}

/// `shfl`, `vote`, `match`, `redux`, `elect`, `bar.warp.sync`, `activemask`.
#[derive(Debug)]
pub struct CollectiveOp {
    pub kind: CollectiveKind,
    /// The member mask; [`NONE`] for forms without `.sync`.
    pub members: Slot,
    pub target: Slot,
    pub target_predicate: Slot,
    pub a: Slot,
    pub invert: bool,
    pub b: Slot,
    pub c: Slot,
}

/// Special registers that change while the warp runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DynamicSpecial {
    Clock32,
    ClockHigh,
    Clock64,
    GlobalTimer,
    GlobalTimerLow,
    GlobalTimerHigh,
    ActiveMask,
    Zero32,
    Zero64,
}

/// Functions provided by the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SystemFunction {
    Printf,
    AssertFail,
    Malloc,
    Free,
}

/// A call of one of them: where its parameters are in the caller's frame.
#[derive(Debug)]
pub(crate) struct SystemOp {
    pub function: SystemFunction,
    /// Offsets in local memory, from the frame's base.
    pub arguments: Box<[u32]>,
    pub result: Option<u32>,
}

/// A source operand of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SourceOperand {
    pub slot: Slot,
    /// 0 for a predicate.
    pub rows: u32,
    /// Whether it is a register of the program; otherwise it is a constant or fixed per thread.
    pub register: bool,
    /// `!p`
    pub inverted: bool,
}

/// The registers an operation reads and writes, for observers.
#[derive(Debug, Default, Clone)]
pub(crate) struct Touched {
    pub reads: Box<[(Slot, u32)]>,
    pub writes: Box<[(Slot, u32)]>,
    /// Its source operands in order, including constants and special registers.
    pub sources: Box<[SourceOperand]>,
    /// Registers it names that hold the addresses of symbols.
    pub symbols: Box<[Slot]>,
    /// Other registers it names.
    pub mentioned: Box<[Slot]>,
}
