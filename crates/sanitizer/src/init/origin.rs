//! Where undefined values come from: the first read that brought one into a register.

use virtual_gpu::observer::{At, MemorySpace};

/// The place that was never written.
#[derive(Debug, Clone, Copy)]
pub enum Unwritten {
    Memory(MemorySpace, u64),
    Register,
    /// The lane that a shuffle reads from does not execute it.
    Lane,
}

/// The read of what was never written.
#[derive(Debug, Clone, Copy)]
pub struct Origin {
    /// Which of the launches that [`Written`](crate::written::Written) knows.
    pub launch: u32,
    pub block: u32,
    pub pc: u32,
    pub warp: u32,
    pub lane: u32,
    pub what: Unwritten,
}

impl Origin {
    /// Of a register that nothing was written to before this instruction reads it.
    pub fn of_register(launch: u32, block: u32, at: At) -> Self {
        let lane = at.lanes.trailing_zeros() & 31;
        Origin { launch, block, pc: at.pc, warp: at.warp, lane, what: Unwritten::Register }
    }

    /// The same instruction's read of memory.
    pub fn of_memory(self, space: MemorySpace, address: u64, lane: u32) -> Self {
        Origin { lane, what: Unwritten::Memory(space, address), ..self }
    }
}
