//! The decoded form of instructions: what the executor runs.

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
    /// The predicate; [`NONE`] if the operation runs always.
    pub slot: Slot,
    /// All ones for `@!p`.
    pub invert: u32,
}

impl Guard {
    pub const ALWAYS: Guard = Guard { slot: NONE, invert: 0 };
}

/// What an operation does.
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
    /// Not an instruction of the text: joins two blocks that lie apart.
    Jump {
        target: u32,
    },
    BranchIndexed {
        index: Slot,
        /// One for all that go by the same table.
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
        /// Whether it stands between plain accesses and those of bulk copies and `wgmma`, too.
        proxies: bool,
    },
    /// A special register whose value changes while the warp runs.
    Special {
        target: Slot,
        which: DynamicSpecial,
    },
    /// Nothing, but another warp may have its turn (`nanosleep`).
    Yield,
    Nop,
    System(Box<SystemOp>),
    Extension(Box<Extension>),
}

impl OpKind {
    /// An instruction of its own kind.
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
}

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
pub(crate) struct AtomicOp {
    pub space: SpaceOperand,
    pub address: AddressOperand,
    pub function: AtomicFunction,
    /// Bytes: 2, 4, 8, 16.
    pub width: u32,
    /// Old values go here, one an element; [`NONE`] for `red` and `_`.
    pub targets: Box<[Slot]>,
    /// Operands, one an element.
    pub operands: Box<[Slot]>,
    /// The new value of `cas`.
    pub swap: Slot,
    pub kind: AccessKind,
    pub order: Order,
    pub scope: Scope,
    /// Adds the constant 1 and nobody reads the result: the chip counts the lanes of a word and adds once.
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

/// Whom a `call` calls.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Callee {
    /// Index into the program's functions.
    Direct(u32),
    /// Through a 64-bit register.
    Indirect(Slot),
}

/// What a block barrier's instruction does.
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
    /// [`NONE`]: all threads of the block.
    pub threads: Slot,
    pub aligned: bool,
    pub target: Slot,
    pub predicate: Slot,
    pub invert: bool,
}

/// What instructions with a member mask compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CollectiveKind {
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
pub(crate) enum ShuffleMode {
    Up,
    Down,
    Butterfly,
    Index,
}

/// `shfl`, `vote`, `match`, `redux`, `elect`, `bar.warp.sync`, `activemask`.
#[derive(Debug)]
pub(crate) struct CollectiveOp {
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

/// Functions that the device provides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SystemFunction {
    Printf,
    AssertFail,
    Malloc,
    Free,
}

/// A call of one of them: where its parameters lie in the caller's frame.
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
    /// Whether it is a register of the program; else a constant, or what is fixed for a thread.
    pub register: bool,
    /// `!p`
    pub inverted: bool,
}

/// Registers that an operation reads and writes, for observers.
#[derive(Debug, Default, Clone)]
pub(crate) struct Touched {
    pub reads: Box<[(Slot, u32)]>,
    pub writes: Box<[(Slot, u32)]>,
    /// Its source operands in order, constants and special registers among them.
    pub sources: Box<[SourceOperand]>,
    /// Registers made from symbols' addresses that it names.
    pub symbols: Box<[Slot]>,
    /// Registers that it names beside these.
    pub mentioned: Box<[Slot]>,
}
