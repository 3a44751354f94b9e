//! Limits and preferences of the current context.

use crate::abi::{Answer, CUfunc_cache, CUlimit, CUsharedconfig, Out};
use crate::objects::context::current;
use crate::objects::limits::{GREATEST_PRIORITY, LEAST_PRIORITY};

pub fn cuCtxSetLimit(number: u32, value: usize) -> Answer {
    let (context, limit) = (current()?, CUlimit::try_from(number)?);
    *context.limits().place(limit)? = value;
    match limit {
        CUlimit::MALLOC_HEAP_SIZE => context.quota.set_heap_limit(value as u64),
        CUlimit::PRINTF_FIFO_SIZE => context.quota.set_printf_limit(value),
        _ => {}
    }
    Ok(())
}

pub fn cuCtxGetLimit(value: Out<usize>, number: u32) -> Answer {
    value.required()?;
    value.set(*current()?.limits().place(CUlimit::try_from(number)?)?)
}

pub fn cuCtxGetCacheConfig(config: Out<u32>) -> Answer {
    config.required()?;
    config.set(current()?.limits().cache as u32)
}

pub fn cuCtxSetCacheConfig(config: u32) -> Answer {
    let config = CUfunc_cache::try_from(config)?;
    current()?.limits().cache = config;
    Ok(())
}

pub fn cuCtxGetSharedMemConfig(config: Out<u32>) -> Answer {
    config.required()?;
    current()?;
    // Since Maxwell banks are four bytes wide, whatever is requested.
    config.set(CUsharedconfig::FOUR_BYTE_BANK_SIZE as u32)
}

pub fn cuCtxSetSharedMemConfig(config: u32) -> Answer {
    CUsharedconfig::try_from(config)?;
    current().map(|_| ())
}

pub fn cuCtxGetStreamPriorityRange(least: Out<i32>, greatest: Out<i32>) -> Answer {
    current()?;
    least.set_if_given(LEAST_PRIORITY);
    greatest.set_if_given(GREATEST_PRIORITY);
    Ok(())
}

pub fn cuCtxResetPersistingL2Cache() -> Answer {
    current().map(|_| ())
}
