//! How many blocks of a kernel a multiprocessor holds, and what follows from it.

use gpu_model::cache::effective_shared;
use gpu_model::occupancy::{BlockNeeds, Occupancy};
use virtual_gpu::Launch;

use crate::abi::{Answer, CUfunction, CUlaunchConfig, CUoccupancyB2DSize, CUresult, In, Out};
use crate::device::chip;
use crate::device::context::current;
use crate::device::function::{self, Function};
use crate::device::launch::attributes;
use crate::device::limits::cache_preference;

/// Resident blocks of one multiprocessor; none when a block does not fit.
fn blocks_per_sm(function: &Function, threads: u32, dynamic_shared: u32) -> u32 {
    let needs = BlockNeeds {
        threads,
        // How many registers a thread takes is decided by the compiler of the real driver; without it they are left out.
        registers_per_thread: 0,
        static_shared: function.kernel.static_shared(),
        dynamic_shared,
    };
    Occupancy::new(chip().sm, needs).map_or(0, |occupancy| occupancy.blocks)
}

/// The same with as much shared memory as the program wishes, and at least enough for a block.
fn blocks_as_wished(function: &Function, threads: u32, dynamic_shared: u32) -> Answer<u32> {
    let blocks = blocks_per_sm(function, threads, dynamic_shared);
    let limits = chip().sm;
    let shared = function.kernel.static_shared().saturating_add(dynamic_shared);
    if shared == 0 || blocks == 0 {
        return Ok(blocks);
    }
    let block = limits.shared_of_block(shared);
    let wish = function.shared_wish(cache_preference()?);
    Ok(blocks.min(effective_shared(limits, wish, block) / block))
}

/// Blocks of a launch that the whole device holds at once.
pub fn resident_blocks(function: &Function, launch: &Launch) -> u64 {
    let threads = u32::try_from(launch.threads()).unwrap_or(u32::MAX);
    u64::from(blocks_per_sm(function, threads, launch.dynamic_shared)) * u64::from(chip().sms)
}

pub fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    blocks: Out<i32>,
    function: CUfunction,
    block_size: i32,
    dynamic_shared: usize,
) -> Answer {
    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block_size, dynamic_shared, 0)
}

pub fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    blocks: Out<i32>,
    function: CUfunction,
    block_size: i32,
    dynamic_shared: usize,
    flags: u32,
) -> Answer {
    blocks.required()?;
    current()?;
    let function = function::get(function)?;
    let threads =
        u32::try_from(block_size).ok().filter(|&threads| threads > 0).ok_or(CUresult::INVALID_VALUE)?;
    if flags > 1 {
        return Err(CUresult::INVALID_VALUE);
    }
    let fits = threads <= function.max_threads();
    let dynamic_shared = u32::try_from(dynamic_shared).unwrap_or(u32::MAX);
    blocks.set(if fits { blocks_as_wished(&function, threads, dynamic_shared)? as i32 } else { 0 })
}

pub fn cuOccupancyMaxPotentialBlockSize(
    grid: Out<i32>,
    block: Out<i32>,
    function: CUfunction,
    shared_of: CUoccupancyB2DSize,
    dynamic_shared: usize,
    limit: i32,
) -> Answer {
    cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, function, shared_of, dynamic_shared, limit, 0)
}

pub fn cuOccupancyMaxPotentialBlockSizeWithFlags(
    grid: Out<i32>,
    block: Out<i32>,
    function: CUfunction,
    shared_of: CUoccupancyB2DSize,
    dynamic_shared: usize,
    limit: i32,
    flags: u32,
) -> Answer {
    grid.required()?;
    block.required()?;
    current()?;
    if limit < 0 || flags > 1 {
        return Err(CUresult::INVALID_VALUE);
    }
    let function = function::get(function)?;
    let most = function.max_threads().min(if limit == 0 { u32::MAX } else { limit as u32 });
    let shared = |threads: u32| match shared_of {
        // SAFETY: the caller gave this function to be asked for the shared memory of a block size.
        Some(shared_of) => unsafe { shared_of(threads as i32) },
        None => dynamic_shared,
    };
    // Among the sizes with the most resident threads, the largest block.
    let sizes = (1..=most.div_ceil(32)).rev().map(|warps| (warps * 32).min(most));
    let best = sizes
        .map(|threads| {
            let shared = u32::try_from(shared(threads)).unwrap_or(u32::MAX);
            (threads, blocks_per_sm(&function, threads, shared))
        })
        .fold((0, 0), |best: (u32, u32), next| if next.0 * next.1 > best.0 * best.1 { next } else { best });
    block.set(best.0 as i32)?;
    grid.set((best.1 * chip().sms) as i32)
}

pub fn cuOccupancyAvailableDynamicSMemPerBlock(
    bytes: Out<usize>,
    function: CUfunction,
    blocks: i32,
    block_size: i32,
) -> Answer {
    bytes.required()?;
    current()?;
    let function = function::get(function)?;
    let (Ok(blocks), Ok(threads)) = (u32::try_from(blocks), u32::try_from(block_size)) else {
        return Err(CUresult::INVALID_VALUE);
    };
    if blocks == 0 || threads == 0 || threads > function.max_threads() {
        return Err(CUresult::INVALID_VALUE);
    }
    let fits = |shared: u32| blocks_per_sm(&function, threads, shared) >= blocks;
    if !fits(0) {
        return Err(CUresult::INVALID_VALUE);
    }
    // The most that fits: occupancy only falls with it.
    let (mut fit, mut too_much) = (0, chip().sm.shared_per_block_optin + 1);
    while too_much - fit > 1 {
        let middle = fit + (too_much - fit) / 2;
        if fits(middle) { fit = middle } else { too_much = middle }
    }
    bytes.set(fit as usize)
}

/// Multiprocessors of one group, within which a cluster must lie.
const GROUP: u32 = 16;

pub fn cuOccupancyMaxPotentialClusterSize(
    size: Out<i32>,
    function: CUfunction,
    config: In<CUlaunchConfig>,
) -> Answer {
    size.required()?;
    current()?;
    let config = config.get()?;
    let function = function::get(function)?;
    if chip().capability().major < 9 {
        return Err(CUresult::INVALID_CLUSTER_SIZE);
    }
    let threads = config.blockDim.iter().product();
    let most = if function.settings().non_portable_cluster() { 16 } else { 8 };
    let fits = blocks_per_sm(&function, threads, config.sharedMemBytes);
    size.set(most.min(fits * GROUP) as i32)
}

pub fn cuOccupancyMaxActiveClusters(
    clusters: Out<i32>,
    function: CUfunction,
    config: In<CUlaunchConfig>,
) -> Answer {
    clusters.required()?;
    current()?;
    let config = config.get()?;
    let function = function::get(function)?;
    let cluster = attributes(&config)?.1.or(function.kernel.required_cluster()).unwrap_or([1; 3]);
    let blocks = cluster.iter().product::<u32>();
    if chip().capability().major < 9 || blocks == 0 || blocks > 16 {
        return Err(CUresult::INVALID_CLUSTER_SIZE);
    }
    let threads = config.blockDim.iter().product();
    let held = blocks_per_sm(&function, threads, config.sharedMemBytes);
    // A cluster lies within one group of multiprocessors.
    let groups = chip().sms / GROUP;
    let rest = chip().sms % GROUP;
    clusters.set((groups * (GROUP * held / blocks) + rest * held / blocks) as i32)
}
