//! The interface of a tool: an observer of one block, which reports the block's mistakes.
//!
//! A tool has a file of its own, a name in [`checks`](crate::checks), and a line in the list of [`tools`](crate::tools).

use virtual_gpu::observer::{
    Access, AsyncEvent, At, BarrierStep, Carrier, Entered, MemorySpace, Operands, Register, Scope,
};

use crate::reached::Reached;
use crate::report::Reporter;

/// A barrier of the block, and what a warp's lanes do there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockBarrier {
    /// Its number.
    pub index: u32,
    /// How many threads it is for; 0 for all of the block.
    pub threads: u32,
    pub step: BarrierStep,
    /// Whether the instruction promises that the whole warp comes together.
    pub aligned: bool,
}

/// A tool beside one block. Each method is an event; a tool answers those that concern it.
pub(crate) trait Tool {
    /// An access to shared memory by the addresses of the instruction.
    fn shared_access(&mut self, _: At, _: &Access<'_>, _: &Reached, _: &mut Reporter) {}

    /// An access. The addresses of a cluster's shared memory have the rank of their block in them.
    fn access(&mut self, _: At, _: &Access<'_>, _: &Reached, _: &mut Reporter) {}

    /// Something asynchronous begins, ends or is waited for; shared addresses are as in [`access`](Self::access).
    fn asynchronous(&mut self, _: At, _: &AsyncEvent<'_>, _: &mut Reporter) {}

    /// A predicate decides whether lanes execute an instruction.
    fn guard(&mut self, _: At, _: Register, _: &mut Reporter) {}

    /// Whether the registers of this warp's instructions are to be shown.
    fn follows(&self, _warp: u32) -> bool {
        false
    }

    /// Registers that an instruction reads and writes.
    fn registers(
        &mut self,
        _: At,
        _reads: &[Register],
        _writes: &[Register],
        _: &Operands<'_>,
        _: &mut Reporter,
    ) {
    }

    /// Lanes come to a barrier of the block, or leave it.
    fn barrier(&mut self, _: At, _: BlockBarrier, _: &mut Reporter) {}

    /// Lanes execute a fence.
    fn fence(&mut self, _: At, _: Scope) {}

    /// A warp's barrier, vote or shuffle; only a barrier orders what its members did.
    fn warp_sync(&mut self, _: At, _members: u32, _orders: bool, _: &mut Reporter) {}

    /// Each lane has a register's value from another lane.
    fn shuffled(&mut self, _: At, _target: Register, _value: Option<Register>, _sources: &[u8; 32]) {}

    /// Lanes enter a function.
    fn enter(&mut self, _: At, _: &Entered) {}

    /// A value goes into a function or comes out of it.
    fn passed(&mut self, _: At, _from: Carrier, _to: Carrier, _bytes: u32) {}

    /// A lane was given memory by `malloc`.
    fn heap_allocated(&mut self, _address: u64, _bytes: u64) {}

    /// Lanes print bytes.
    fn printed(&mut self, _: At, _: MemorySpace, _address: u64, _bytes: u32, _: &mut Reporter) {}

    /// Lanes end.
    fn exit(&mut self, _: At, _: &mut Reporter) {}

    /// Bytes of shadow that the block takes.
    fn bytes(&mut self) -> usize {
        0
    }
}
