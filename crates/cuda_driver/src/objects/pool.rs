//! Stream-ordered memory: pools, and what is allocated from them.
//!
//! An allocation is there as soon as it is asked for, which is earlier than its stream's order demands; a free waits
//! its stream's turn.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::abi::{Answer, CUdeviceptr, CUgraphNodeType, CUmemoryPool, CUresult, Handle};
use crate::check;
use crate::objects::allocation::{Origin, disown, owner_of};
use crate::objects::context::Context;
use crate::objects::device::{code_of, gpu};
use crate::objects::registry::Registry;
use crate::objects::work::Work;

pub static POOLS: Registry<Pool> = Registry::new(CUresult::INVALID_VALUE);

/// A memory pool. All give from the device's one memory; what differs is what they count.
pub struct Pool {
    /// Reuse flags and the release threshold, which decide nothing here.
    pub settings: [AtomicU64; 4],
    /// Bytes of living allocations.
    pub used: AtomicU64,
    pub used_most: AtomicU64,
}

impl Pool {
    pub fn new() -> Self {
        let settings = [1, 1, 1, 0].map(AtomicU64::new);
        Self { settings, used: AtomicU64::new(0), used_most: AtomicU64::new(0) }
    }

    pub fn count(&self, bytes: u64) {
        let used = self.used.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.used_most.fetch_max(used, Ordering::Relaxed);
    }
}

pub fn default_pool() -> CUmemoryPool {
    static DEFAULT: OnceLock<Handle> = OnceLock::new();
    *DEFAULT.get_or_init(|| POOLS.insert(Pool::new()))
}

static PRESENT: Mutex<Option<CUmemoryPool>> = Mutex::new(None);

pub fn present_pool() -> CUmemoryPool {
    PRESENT.lock().unwrap_or_else(PoisonError::into_inner).unwrap_or_else(default_pool)
}

pub fn set_present_pool(pool: CUmemoryPool) {
    *PRESENT.lock().unwrap_or_else(PoisonError::into_inner) = Some(pool);
}

/// Destroys a pool; its allocations stay.
pub fn destroy(pool: CUmemoryPool) -> Answer {
    POOLS.remove(pool)?;
    let mut present = PRESENT.lock().unwrap_or_else(PoisonError::into_inner);
    if *present == Some(pool) {
        *present = None;
    }
    Ok(())
}

/// Takes what a pool gave: from here on it is the stream's.
pub struct Take {
    pub address: CUdeviceptr,
    pub bytes: u64,
}

impl Work for Take {
    fn kind(&self) -> CUgraphNodeType {
        CUgraphNodeType::MEM_ALLOC
    }

    fn perform(&self, _context: &Context) -> Answer {
        check::tell(|sanitizer| sanitizer.stream_took(self.address, self.bytes));
        Ok(())
    }
}

pub struct Free(pub CUdeviceptr);

impl Work for Free {
    fn kind(&self) -> CUgraphNodeType {
        CUgraphNodeType::MEM_FREE
    }

    fn perform(&self, _context: &Context) -> Answer {
        // Freed twice: the second free was refused when it was issued, unless both were under way.
        free(self.0)
    }
}

/// Frees an allocation of the device. Work on it is done.
pub fn free(address: CUdeviceptr) -> Answer {
    let (_, origin) = owner_of(address).ok_or_else(|| {
        check::tell(|sanitizer| sanitizer.host_free_failed(address));
        CUresult::INVALID_VALUE
    })?;
    let bytes = gpu().memory().find(address).map_or(0, |allocation| allocation.size());
    disown(address);
    gpu().memory().free(address).map_err(|error| code_of(&error))?;
    check::tell(|sanitizer| sanitizer.host_freed(address));
    // A pool that was destroyed before its allocations has nobody left to tell.
    if let Origin::Pool(pool) = origin
        && let Ok(pool) = POOLS.get(pool)
    {
        pool.used.fetch_sub(bytes, Ordering::Relaxed);
    }
    Ok(())
}
