//! What a memory instruction says beside its address: the space, what is done there, and how it is ordered.

use super::registers::{NONE, Register, Slot};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MemorySpace {
    /// Global memory; addresses are device addresses.
    Global,
    /// Constant memory; addresses are device addresses.
    Const,
    /// Shared memory; addresses are offsets in the block's (see [`crate::memory::window`] for clusters).
    Shared,
    /// A thread's stack; addresses are offsets in it. Arguments of device functions lie here too.
    Local,
    /// The kernel's parameters; addresses are offsets.
    Param,
}

/// What is done with memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// `ld`.
    Load,
    /// `st`.
    Store,
    /// `atom`: read, modify, write, and the old value comes back.
    Atomic,
    /// `red`: as `atom`, nothing comes back.
    Reduction,
}

/// How far an ordering reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    Block,
    Cluster,
    Device,
    /// All devices and the host.
    System,
}

/// The ordering that an access or fence asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// Plain.
    Weak,
    /// `.volatile`: as relaxed at system scope, and never merged.
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

/// Where an instruction's address is.
#[derive(Debug, Clone, Copy)]
pub struct AddressOperand {
    /// Base register; [`NONE`] if the offset is all.
    pub base: Slot,
    /// The base has 64 bits.
    pub wide: bool,
    pub offset: i64,
}

impl AddressOperand {
    pub const NOWHERE: AddressOperand = AddressOperand { base: NONE, wide: true, offset: 0 };

    /// The register of the base, in a frame whose registers begin at this slot.
    pub fn register(self, frame: Slot) -> Option<Register> {
        let bytes = if self.wide { 8 } else { 4 };
        (self.base != NONE).then(|| Register { slot: frame + self.base, bytes })
    }
}

/// The space that an instruction names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SpaceOperand {
    Generic,
    In(MemorySpace),
}

/// What an atomic does with the old value and its operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AtomicFunction {
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
