//! A memory instruction apart from its address: the space, the kind of access, and how it is ordered.

use super::registers::{NONE, Register, Slot};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MemorySpace {
    /// Global memory; addresses are device addresses.
    Global,
    /// Constant memory; addresses are device addresses.
    Const,
    /// Shared memory; addresses are offsets in the block's (see [`crate::memory::window`] for clusters).
    Shared,
    /// A thread's stack; addresses are offsets in it. Device functions' arguments are here too.
    Local,
    /// The kernel's parameters; addresses are offsets.
    Param,
}

/// The kind of access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// `ld`.
    Load,
    /// `st`.
    Store,
    /// `atom`: reads, modifies, writes, and returns the old value.
    Atomic,
    /// `red`: like `atom`, but returns nothing.
    Reduction,
}

/// The threads that an ordering covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    Block,
    Cluster,
    Device,
    /// All devices and the host.
    System,
}

/// The memory ordering of an access or fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    Weak,
    /// `.volatile`: like relaxed at system scope, and never merged.
    Volatile,
    Relaxed,
    Acquire,
    Release,
    /// `.acq_rel`.
    AcquireRelease,
    /// `.sc`, `membar`.
    SequentiallyConsistent,
    Mmio,
}

/// An instruction's address operand.
#[derive(Debug, Clone, Copy)]
pub struct AddressOperand {
    /// Base register; [`NONE`] if there is only an offset.
    pub base: Slot,
    /// Whether the base has 64 bits.
    pub wide: bool,
    pub offset: i64,
}

impl AddressOperand {
    pub const NOWHERE: AddressOperand = AddressOperand { base: NONE, wide: true, offset: 0 };

    /// The base register, in a frame whose registers begin at this slot.
    pub fn register(self, frame: Slot) -> Option<Register> {
        let bytes = if self.wide { 8 } else { 4 };
        (self.base != NONE).then(|| Register { slot: frame + self.base, bytes })
    }
}

/// The space an instruction names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SpaceOperand {
    Generic,
    In(MemorySpace),
}

/// How an atomic combines the old value with its operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtomicFunction {
    And,
    Or,
    Xor,
    Exchange,
    CompareAndSwap,
    Add,
    Increment,
    Decrement,
    MinUnsigned,
    MaxUnsigned,
    MinSigned,
    MaxSigned,
    AddF32,
    AddF64,
    AddF16,
    AddBf16,
    AddF16x2,
    AddBf16x2,
    MinMaxF16 { bf16: bool, max: bool, packed: bool },
}
