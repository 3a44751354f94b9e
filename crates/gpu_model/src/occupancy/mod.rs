//! Occupancy: how many blocks of a kernel one multiprocessor holds at once, what stands in the way of more, and what
//! would help.
//!
//! A multiprocessor has a number of block slots, warp slots, registers and bytes of shared memory; a block takes its share
//! of each, rounded up to what the hardware hands out. The scarcest resource decides.

mod advice;
mod examples;

use serde::{Deserialize, Serialize};

use crate::SmLimits;

pub use advice::{Advice, Change};
pub use examples::{Example, examples};

/// Resources that one block of a kernel takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockNeeds {
    pub threads: u32,
    /// Registers of each thread; 0 if unknown, which leaves registers out of the reckoning.
    pub registers_per_thread: u32,
    /// Bytes of static shared memory.
    pub static_shared: u32,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
}

/// A resource that can run out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// Warp slots (threads).
    Warps,
    Registers,
    SharedMemory,
    /// Block slots.
    Blocks,
}

impl Resource {
    /// The name that tables show.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Warps => "threads",
            Self::Registers => "registers",
            Self::SharedMemory => "shared memory",
            Self::Blocks => "block slots",
        }
    }
}

/// How many blocks one resource admits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BlockLimit {
    pub resource: Resource,
    /// Blocks it admits; `None` if a block takes nothing of it.
    pub blocks: Option<u32>,
}

/// Residency of a kernel on one multiprocessor.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Occupancy {
    /// The request.
    pub needs: BlockNeeds,
    /// Resident blocks.
    pub blocks: u32,
    /// Resident warps.
    pub warps: u32,
    /// Resident warps ÷ warp slots.
    pub fraction: f64,
    /// The limit of each resource.
    pub limits: [BlockLimit; 4],
    /// The resources that admit no further block.
    pub limited_by: Vec<Resource>,
    /// Registers handed out to one block, roundings included.
    pub registers_per_block: u32,
    /// Bytes of shared memory handed out to one block, the system's share and roundings included.
    pub shared_per_block: u32,
    /// Whether the kernel must opt in to its dynamic shared memory (`cuFuncSetAttribute`) before the launch.
    pub needs_opt_in: bool,
}

/// A block that no multiprocessor of the generation can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OccupancyError {
    /// A block without threads.
    #[error("a block needs at least one thread")]
    NoThreads,
    /// Too many threads.
    #[error("a block of {asked} threads; capability {} admits {} at most", .limits.capability, .limits.threads_per_block)]
    Threads {
        /// Threads asked for.
        asked: u32,
        /// The generation.
        limits: &'static SmLimits,
    },
    /// Too many registers for one thread.
    #[error(
        "{asked} registers a thread; capability {} has {} at most: the compiler would spill the rest to local memory",
        .limits.capability, .limits.registers_per_thread
    )]
    RegistersPerThread {
        /// Registers asked for.
        asked: u32,
        /// The generation.
        limits: &'static SmLimits,
    },
    /// Too many registers for one block.
    #[error(
        "a block of {threads} threads with {registers} registers each takes {taken} registers; capability {} admits {} \
         a block: use fewer threads or fewer registers (`#[launch_bounds]`)",
        .limits.capability, .limits.registers_per_block
    )]
    RegistersPerBlock {
        /// Threads of the block.
        threads: u32,
        registers: u32,
        /// Registers of the block, rounded as the hardware checks them.
        taken: u64,
        /// The generation.
        limits: &'static SmLimits,
    },
    /// Too much shared memory for one block.
    #[error("{asked} bytes of shared memory; a block of capability {} has {} at most", .limits.capability, .limits.shared_per_block_optin)]
    SharedMemory {
        /// Bytes asked for.
        asked: u64,
        /// The generation.
        limits: &'static SmLimits,
    },
}

impl Occupancy {
    /// Computes what one multiprocessor of the generation holds.
    ///
    /// ```
    /// use gpu_model::occupancy::{BlockNeeds, Occupancy, Resource};
    ///
    /// let needs = BlockNeeds { threads: 256, registers_per_thread: 64, static_shared: 2048, dynamic_shared: 0 };
    /// let occupancy = Occupancy::new(gpu_model::chips::H200.sm, needs)?;
    /// assert_eq!((occupancy.blocks, occupancy.warps, occupancy.fraction), (4, 32, 0.5));
    /// assert_eq!(occupancy.limited_by, [Resource::Registers]);
    /// # Ok::<(), gpu_model::occupancy::OccupancyError>(())
    /// ```
    pub fn new(sm: &'static SmLimits, needs: BlockNeeds) -> Result<Self, OccupancyError> {
        if needs.threads == 0 {
            return Err(OccupancyError::NoThreads);
        }
        if needs.threads > sm.threads_per_block {
            return Err(OccupancyError::Threads { asked: needs.threads, limits: sm });
        }
        let block_warps = needs.threads.div_ceil(32);
        let registers = registers(sm, needs, block_warps)?;
        let (shared_per_block, shared_blocks) = shared(sm, needs)?;
        let limits = [
            BlockLimit { resource: Resource::Warps, blocks: Some(sm.warps / block_warps) },
            BlockLimit { resource: Resource::Registers, blocks: registers.blocks },
            BlockLimit { resource: Resource::SharedMemory, blocks: shared_blocks },
            BlockLimit { resource: Resource::Blocks, blocks: Some(sm.blocks) },
        ];
        let blocks = limits.iter().filter_map(|limit| limit.blocks).min().unwrap_or(0);
        let limited_by =
            limits.iter().filter(|limit| limit.blocks == Some(blocks)).map(|limit| limit.resource).collect();
        let warps = blocks * block_warps;
        Ok(Self {
            needs,
            blocks,
            warps,
            fraction: f64::from(warps) / f64::from(sm.warps),
            limits,
            limited_by,
            registers_per_block: registers.per_block,
            shared_per_block,
            needs_opt_in: needs.static_shared + needs.dynamic_shared > sm.shared_per_block,
        })
    }
}

struct Registers {
    per_block: u32,
    blocks: Option<u32>,
}

fn registers(
    sm: &'static SmLimits,
    needs: BlockNeeds,
    block_warps: u32,
) -> Result<Registers, OccupancyError> {
    let asked = needs.registers_per_thread;
    if asked == 0 {
        return Ok(Registers { per_block: 0, blocks: None });
    }
    if asked > sm.registers_per_thread {
        return Err(OccupancyError::RegistersPerThread { asked, limits: sm });
    }
    let refuse = |taken: u32| OccupancyError::RegistersPerBlock {
        threads: needs.threads,
        registers: asked,
        taken: taken.into(),
        limits: sm,
    };
    // Each scheduler owns its share of the registers, and the hardware checks a block as if it used all schedulers.
    let whole_warps = block_warps.next_multiple_of(sm.warp_granularity);
    match sm.register_unit {
        crate::chips::RegisterUnit::Block => {
            let per_block = (whole_warps * 32 * asked).next_multiple_of(sm.register_granularity);
            if per_block > sm.registers_per_block {
                return Err(refuse(per_block));
            }
            Ok(Registers { per_block, blocks: Some(sm.registers / per_block) })
        }
        crate::chips::RegisterUnit::Warp => {
            let per_warp = (asked * 32).next_multiple_of(sm.register_granularity);
            if per_warp * whole_warps > sm.registers_per_block {
                return Err(refuse(per_warp * whole_warps));
            }
            let scheduler_warps = sm.registers / sm.warp_granularity / per_warp;
            Ok(Registers {
                per_block: per_warp * block_warps,
                blocks: Some(scheduler_warps * sm.warp_granularity / block_warps),
            })
        }
    }
}

fn shared(sm: &'static SmLimits, needs: BlockNeeds) -> Result<(u32, Option<u32>), OccupancyError> {
    let asked = u64::from(needs.static_shared) + u64::from(needs.dynamic_shared);
    if asked > u64::from(sm.shared_per_block_optin) {
        return Err(OccupancyError::SharedMemory { asked, limits: sm });
    }
    let taken = sm.shared_of_block(asked as u32);
    if taken == 0 { Ok((0, None)) } else { Ok((taken, Some(sm.shared / taken))) }
}
