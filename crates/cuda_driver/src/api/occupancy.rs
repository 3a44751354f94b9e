//! How many blocks of a kernel fit on a multiprocessor, and what follows from it.

use crate::abi::{Answer, CUfunction, CUlaunchConfig, CUoccupancyB2DSize, CUresult, In, Out};
use crate::objects::context::current;
use crate::objects::launch::attributes;
use crate::objects::library::function_named;
use crate::objects::occupancy::{blocks_as_wished, blocks_per_sm};

pub fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    blocks: Out<i32>,
    function: CUfunction,
    block_size: i32,
    dynamic_shared: usize,
    flags: u32,
) -> Answer {
    blocks.required()?;
    let of_context = current()?.limits().cache;
    let function = function_named(function)?;
    let threads =
        u32::try_from(block_size).ok().filter(|&threads| threads > 0).ok_or(CUresult::INVALID_VALUE)?;
    if flags > 1 {
        return Err(CUresult::INVALID_VALUE);
    }
    let fits = threads <= function.max_threads();
    let dynamic_shared = u32::try_from(dynamic_shared).unwrap_or(u32::MAX);
    blocks.set(if fits { blocks_as_wished(&function, threads, dynamic_shared, of_context) as i32 } else { 0 })
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
    let function = function_named(function)?;
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
    grid.set((best.1 * function.chip().sms) as i32)
}

pub fn cuOccupancyAvailableDynamicSMemPerBlock(
    bytes: Out<usize>,
    function: CUfunction,
    blocks: i32,
    block_size: i32,
) -> Answer {
    bytes.required()?;
    let of_context = current()?.limits().cache;
    let function = function_named(function)?;
    let (Ok(blocks), Ok(threads)) = (u32::try_from(blocks), u32::try_from(block_size)) else {
        return Err(CUresult::INVALID_VALUE);
    };
    let possible = blocks > 0 && threads > 0 && threads <= function.max_threads();
    if !possible || blocks_per_sm(&function, threads, 0) < blocks {
        return Err(CUresult::INVALID_VALUE);
    }
    // An H200's driver divides the wished shared memory evenly, without the system's share of each block; one block alone
    // gets all that the function may have.
    let most = function.settings().dynamic_shared;
    let share = function.shared_wish(of_context) / blocks;
    let each = share.saturating_sub(function.kernel.static_shared());
    bytes.set(if blocks == 1 { most } else { most.min(each) } as usize)
}

/// Multiprocessors per group; a cluster runs within one.
const GROUP: u32 = 16;

pub fn cuOccupancyMaxPotentialClusterSize(
    size: Out<i32>,
    function: CUfunction,
    config: In<CUlaunchConfig>,
) -> Answer {
    size.required()?;
    current()?;
    let config = config.get()?;
    let function = function_named(function)?;
    if function.chip().capability().major < 9 {
        return Err(CUresult::INVALID_CLUSTER_SIZE);
    }
    let threads = config.blockDim.iter().product();
    let fits = blocks_per_sm(&function, threads, config.sharedMemBytes);
    size.set(function.max_cluster().min(fits * GROUP) as i32)
}

pub fn cuOccupancyMaxActiveClusters(
    clusters: Out<i32>,
    function: CUfunction,
    config: In<CUlaunchConfig>,
) -> Answer {
    clusters.required()?;
    current()?;
    let config = config.get()?;
    let function = function_named(function)?;
    let cluster = attributes(&config)?.1.or(function.kernel.required_cluster()).unwrap_or([1; 3]);
    let blocks = cluster.iter().product::<u32>();
    if function.chip().capability().major < 9 || blocks == 0 || blocks > 16 {
        return Err(CUresult::INVALID_CLUSTER_SIZE);
    }
    let threads = config.blockDim.iter().product();
    let held = blocks_per_sm(&function, threads, config.sharedMemBytes);
    // A cluster runs within one group of multiprocessors.
    let groups = function.chip().sms / GROUP;
    let rest = function.chip().sms % GROUP;
    clusters.set((groups * (GROUP * held / blocks) + rest * held / blocks) as i32)
}
