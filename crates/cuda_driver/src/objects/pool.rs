//! Stream-ordered memory: pools, and allocations from them.
//!
//! An allocation is there as soon as it is asked for, which is earlier than its stream's order demands; a free waits
//! its stream's turn.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use virtual_gpu::memory::Rights;

use crate::abi::{Answer, CUdevice, CUdeviceptr, CUgraphNodeType, CUmemoryPool, CUresult};
use crate::check;
use crate::objects::allocation::{Origin, disown, owner_of};
use crate::objects::context::Context;
use crate::objects::device::{Device, code_of, devices, memory};
use crate::objects::registry::Registry;
use crate::objects::work::Work;

pub static POOLS: Registry<Pool> = Registry::new(CUresult::INVALID_VALUE);

/// A memory pool. All pools of a device share its memory; they differ in what they count and who can access it.
pub struct Pool {
    pub device: &'static Device,
    /// Which devices can access its past and future allocations: its own always can.
    pub rights: Arc<Rights>,
    /// Reuse flags and the release threshold, which have no effect here.
    pub settings: [AtomicU64; 4],
    /// Bytes of living allocations.
    pub used: AtomicU64,
    pub used_most: AtomicU64,
}

impl Pool {
    pub fn new(device: &'static Device) -> Self {
        let settings = [1, 1, 1, 0].map(AtomicU64::new);
        let rights = Rights::none();
        rights.set(device.number as u32, true, true);
        Self { device, rights, settings, used: AtomicU64::new(0), used_most: AtomicU64::new(0) }
    }

    pub fn count(&self, bytes: u64) {
        let used = self.used.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.used_most.fetch_max(used, Ordering::Relaxed);
    }
}

/// Each device's default pool, by device number.
fn default_pools() -> &'static [CUmemoryPool] {
    static DEFAULT: OnceLock<Vec<CUmemoryPool>> = OnceLock::new();
    DEFAULT.get_or_init(|| devices().iter().map(|device| POOLS.insert(Pool::new(device))).collect())
}

pub fn default_pool(device: &Device) -> CUmemoryPool {
    default_pools()[device.number as usize]
}

pub fn is_default(pool: CUmemoryPool) -> bool {
    default_pools().contains(&pool)
}

/// The pools that programs have set in place of the default ones, by device number.
static PRESENT: Mutex<BTreeMap<CUdevice, CUmemoryPool>> = Mutex::new(BTreeMap::new());

fn present() -> MutexGuard<'static, BTreeMap<CUdevice, CUmemoryPool>> {
    // One insertion or removal each: whole after a panic elsewhere.
    PRESENT.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn present_pool(device: &Device) -> CUmemoryPool {
    present().get(&device.number).copied().unwrap_or_else(|| default_pool(device))
}

pub fn set_present_pool(device: &Device, pool: CUmemoryPool) {
    present().insert(device.number, pool);
}

/// Destroys a pool; its allocations stay.
pub fn destroy(pool: CUmemoryPool) -> Answer {
    POOLS.remove(pool)?;
    present().retain(|_, present| *present != pool);
    Ok(())
}

/// Takes memory from a pool: from here on it belongs to the stream.
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
        // Freed twice: the second free was refused when it was issued, unless both were pending.
        free(self.0)
    }
}

/// Frees an allocation of the device. Work on it is done.
pub fn free(address: CUdeviceptr) -> Answer {
    let (_, origin) = owner_of(address).ok_or_else(|| {
        check::tell(|sanitizer| sanitizer.host_free_failed(address));
        CUresult::INVALID_VALUE
    })?;
    let bytes = memory().find(address).map_or(0, |allocation| allocation.size());
    disown(address);
    memory().free(address).map_err(|error| code_of(&error))?;
    check::tell(|sanitizer| sanitizer.host_freed(address));
    // A pool destroyed before its allocations need not be told.
    if let Origin::Pool(pool) = origin
        && let Ok(pool) = POOLS.get(pool)
    {
        pool.used.fetch_sub(bytes, Ordering::Relaxed);
    }
    Ok(())
}
