//! Limits of a launch.

use crate::form::program::KernelCode;
use crate::launch::Launch;
use crate::memory::window;
use crate::{Error, Gpu};

pub(super) fn cluster_blocks(launch: &Launch) -> u64 {
    launch.cluster.iter().fold(1u64, |n, &d| n.saturating_mul(d.max(1).into()))
}

/// A kernel with `.reqnctapercluster` has its clusters whether the launch says so or not, and no others.
pub(super) fn with_clusters(kernel: &KernelCode, launch: &Launch) -> Result<Launch, Error> {
    let Some(required) = kernel.required_cluster else { return Ok(*launch) };
    let given = launch.cluster.map(|d| d.max(1));
    if given != [1; 3] && given != required {
        let blocks = |size: [u32; 3]| size.iter().map(|&d| u64::from(d)).product();
        return Err(Error::LaunchLimit {
            kernel: kernel.name.clone(),
            what: "the number of blocks in a cluster, which `.reqnctapercluster` fixes,",
            asked: blocks(given),
            limit: blocks(required),
        });
    }
    Ok(Launch { cluster: required, ..*launch })
}

pub(super) fn check(gpu: &Gpu, kernel: &KernelCode, launch: &Launch, params: &[u8]) -> Result<(), Error> {
    let limits = gpu.chip().sm;
    let limit = |what, asked: u64, limit: u64| {
        if asked > limit {
            Err(Error::LaunchLimit { kernel: kernel.name.clone(), what, asked, limit })
        } else {
            Ok(())
        }
    };
    if params.len() < kernel.param_bytes as usize {
        return Err(Error::Parameters {
            kernel: kernel.name.clone(),
            expected: kernel.param_bytes as usize,
            given: params.len(),
        });
    }
    let [gx, gy, gz] = launch.grid;
    let [bx, by, bz] = launch.block;
    for (what, asked) in [("grid.x", gx), ("grid.y", gy), ("grid.z", gz)] {
        limit(if asked == 0 { "an empty dimension of the grid" } else { what }, u64::from(asked == 0), 0)?;
    }
    for (what, asked) in [("block.x", bx), ("block.y", by), ("block.z", bz)] {
        limit(if asked == 0 { "an empty dimension of the block" } else { what }, u64::from(asked == 0), 0)?;
    }
    limit("grid.x", gx.into(), i32::MAX as u64)?;
    limit("grid.y", gy.into(), 65_535)?;
    limit("grid.z", gz.into(), 65_535)?;
    limit("block.x", bx.into(), limits.threads_per_block.into())?;
    limit("block.y", by.into(), limits.threads_per_block.into())?;
    limit("block.z", bz.into(), 64)?;
    limit("the number of threads a block", launch.threads(), limits.threads_per_block.into())?;
    if let Some(max) = kernel.max_threads {
        limit("the number of threads a block", launch.threads(), max.into())?;
    }
    if let Some(required) = kernel.required_block
        && required != launch.block
    {
        let threads = required.iter().map(|&d| u64::from(d)).product();
        return Err(Error::LaunchLimit {
            kernel: kernel.name.clone(),
            what: "the number of threads a block, which `.reqntid` fixes,",
            asked: launch.threads(),
            limit: threads,
        });
    }
    let shared = u64::from(kernel.static_shared) + u64::from(launch.dynamic_shared);
    limit("shared memory in bytes", shared, limits.shared_per_block_optin.into())?;
    limit("shared memory in bytes", shared, (1 << window::SHARED_OFFSET_BITS) - 256)?;
    let cluster = cluster_blocks(launch);
    limit("the number of blocks in a cluster", cluster, 16)?;
    for d in 0..3 {
        let size = launch.cluster[d].max(1);
        limit("blocks left over by clusters", (launch.grid[d] % size).into(), 0)?;
    }
    if launch.cooperative {
        let resident = u64::from(gpu.chip().sms) * u64::from(limits.blocks);
        limit("the number of blocks of a cooperative launch", launch.blocks(), resident)?;
    }
    Ok(())
}
