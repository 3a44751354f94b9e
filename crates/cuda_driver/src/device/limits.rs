//! Limits and preferences of a context.

use std::sync::PoisonError;

use crate::abi::attributes::limit;
use crate::abi::{Answer, CUresult, Out};
use crate::device::context::current;
use crate::device::gpu;

/// What a program has set.
#[derive(Debug, Clone)]
pub struct Limits {
    stack: usize,
    printf_fifo: usize,
    heap: usize,
    sync_depth: usize,
    pending_launches: usize,
    l2_granularity: usize,
    cache: u32,
    shared_banks: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            stack: 1024,
            printf_fifo: 1 << 20,
            heap: gpu().options().heap_limit as usize,
            sync_depth: 2,
            pending_launches: 2048,
            l2_granularity: 64,
            cache: 0,
            shared_banks: 1,
        }
    }
}

impl Limits {
    fn place(&mut self, number: u32) -> Option<&mut usize> {
        Some(match number {
            limit::STACK_SIZE => &mut self.stack,
            limit::PRINTF_FIFO_SIZE => &mut self.printf_fifo,
            limit::MALLOC_HEAP_SIZE => &mut self.heap,
            limit::DEV_RUNTIME_SYNC_DEPTH => &mut self.sync_depth,
            limit::DEV_RUNTIME_PENDING_LAUNCH_COUNT => &mut self.pending_launches,
            limit::MAX_L2_FETCH_GRANULARITY => &mut self.l2_granularity,
            _ => return None,
        })
    }
}

/// Reads or changes the current context's limits.
fn with_limits<T>(act: impl FnOnce(&mut Limits) -> Answer<T>) -> Answer<T> {
    let context = current()?;
    // A plain record: whole after a panic elsewhere.
    act(&mut context.limits.lock().unwrap_or_else(PoisonError::into_inner))
}

fn unknown(number: u32) -> CUresult {
    const NUMBERS: u32 = 0x0b;
    if number < NUMBERS { CUresult::UNSUPPORTED_LIMIT } else { CUresult::INVALID_VALUE }
}

pub fn cuCtxSetLimit(number: u32, value: usize) -> Answer {
    with_limits(|limits| {
        *limits.place(number).ok_or(unknown(number))? = value;
        Ok(())
    })
}

pub fn cuCtxGetLimit(value: Out<usize>, number: u32) -> Answer {
    value.required()?;
    with_limits(|limits| value.set(*limits.place(number).ok_or(unknown(number))?))
}

/// The current context's `CUfunc_cache`.
pub fn cache_preference() -> Answer<u32> {
    with_limits(|limits| Ok(limits.cache))
}

pub fn cuCtxGetCacheConfig(config: Out<u32>) -> Answer {
    config.required()?;
    config.set(cache_preference()?)
}

pub fn cuCtxSetCacheConfig(config: u32) -> Answer {
    if config > 3 {
        return Err(CUresult::INVALID_VALUE);
    }
    with_limits(|limits| {
        limits.cache = config;
        Ok(())
    })
}

pub fn cuCtxGetSharedMemConfig(config: Out<u32>) -> Answer {
    config.required()?;
    with_limits(|limits| config.set(limits.shared_banks))
}

pub fn cuCtxSetSharedMemConfig(config: u32) -> Answer {
    if config > 2 {
        return Err(CUresult::INVALID_VALUE);
    }
    // Since Maxwell banks are four bytes wide whatever is asked for.
    with_limits(|_| Ok(()))
}

pub fn cuCtxGetStreamPriorityRange(least: Out<i32>, greatest: Out<i32>) -> Answer {
    current()?;
    least.set_if_given(LEAST_PRIORITY);
    greatest.set_if_given(GREATEST_PRIORITY);
    Ok(())
}

/// The priority of streams that ask for none.
pub const LEAST_PRIORITY: i32 = 0;
/// The highest priority; lower numbers come first.
pub const GREATEST_PRIORITY: i32 = -5;

pub fn cuCtxResetPersistingL2Cache() -> Answer {
    current().map(|_| ())
}
