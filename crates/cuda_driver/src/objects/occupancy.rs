//! How many blocks of a kernel a multiprocessor holds, and what follows from it.

use gpu_model::cache::effective_shared;
use gpu_model::occupancy::{BlockNeeds, Occupancy};
use virtual_gpu::Launch;

use crate::abi::CUfunc_cache;
use crate::objects::function::Function;

/// Resident blocks per multiprocessor; zero if a block does not fit.
pub fn blocks_per_sm(function: &Function, threads: u32, dynamic_shared: u32) -> u32 {
    let needs = BlockNeeds {
        threads,
        // The real driver's compiler decides how many registers a thread takes; without it they are ignored.
        registers_per_thread: 0,
        static_shared: function.kernel.static_shared(),
        dynamic_shared,
    };
    Occupancy::new(function.chip().sm, needs).map_or(0, |occupancy| occupancy.blocks)
}

/// The same with as much shared memory as the program wishes in a context of this preference, and at least enough for a
/// block.
pub fn blocks_as_wished(
    function: &Function,
    threads: u32,
    dynamic_shared: u32,
    of_context: CUfunc_cache,
) -> u32 {
    let blocks = blocks_per_sm(function, threads, dynamic_shared);
    let limits = function.chip().sm;
    let shared = function.kernel.static_shared().saturating_add(dynamic_shared);
    if shared == 0 || blocks == 0 {
        return blocks;
    }
    let block = limits.shared_of_block(shared);
    let wish = function.shared_wish(of_context);
    blocks.min(effective_shared(limits, wish, block) / block)
}

pub fn resident_blocks(function: &Function, launch: &Launch) -> u64 {
    let threads = u32::try_from(launch.threads()).unwrap_or(u32::MAX);
    u64::from(blocks_per_sm(function, threads, launch.dynamic_shared)) * u64::from(function.chip().sms)
}
