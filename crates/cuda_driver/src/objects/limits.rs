//! A context's settings: limits and preferences.

use crate::abi::{Answer, CUfunc_cache, CUlimit, CUresult};
use crate::objects::device::first;

pub const LEAST_PRIORITY: i32 = 0;
/// The highest priority; lower numbers come first.
pub const GREATEST_PRIORITY: i32 = -5;

#[derive(Debug, Clone)]
pub struct Limits {
    stack: usize,
    printf_fifo: usize,
    heap: usize,
    sync_depth: usize,
    pending_launches: usize,
    l2_granularity: usize,
    pub cache: CUfunc_cache,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            stack: 1024,
            printf_fifo: 1 << 20,
            heap: first().gpu.options().heap_limit as usize,
            sync_depth: 2,
            pending_launches: 2048,
            l2_granularity: 64,
            cache: CUfunc_cache::PREFER_NONE,
        }
    }
}

impl Limits {
    pub fn place(&mut self, limit: CUlimit) -> Answer<&mut usize> {
        Ok(match limit {
            CUlimit::STACK_SIZE => &mut self.stack,
            CUlimit::PRINTF_FIFO_SIZE => &mut self.printf_fifo,
            CUlimit::MALLOC_HEAP_SIZE => &mut self.heap,
            CUlimit::DEV_RUNTIME_SYNC_DEPTH => &mut self.sync_depth,
            CUlimit::DEV_RUNTIME_PENDING_LAUNCH_COUNT => &mut self.pending_launches,
            CUlimit::MAX_L2_FETCH_GRANULARITY => &mut self.l2_granularity,
            _ => return Err(CUresult::UNSUPPORTED_LIMIT),
        })
    }
}
