//! Stream-ordered memory: pools, and allocations from them.
//!
//! An allocation is there as soon as it is asked for, which is earlier than its stream's order demands; a free waits
//! its stream's turn.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use virtual_gpu::memory::Rights;

use crate::abi::{Answer, CUdevice, CUdeviceptr, CUgraphNodeType, CUmemoryPool, CUresult};
use crate::check;
use crate::objects::allocation::{Origin, PoolMemory, disown};
use crate::objects::context::Context;
use crate::objects::device::{Device, code_of, device, memory};
use crate::objects::registry::Registry;
use crate::objects::work::Work;

pub static POOLS: Registry<Pool> = Registry::new(CUresult::INVALID_VALUE);

/// A memory pool. All pools of a device share its memory; they differ in what they count and who can access it.
pub struct Pool {
    /// The device whose memory it provides, or that asked first for a pool of the host's.
    pub device: &'static Device,
    pub memory: PoolMemory,
    /// Which devices can access its past and future allocations: the one whose memory it is always can.
    pub rights: Arc<Rights>,
    /// Reuse flags and the release threshold, which have no effect here.
    pub settings: [AtomicU64; 4],
    /// Bytes of living allocations.
    pub used: AtomicU64,
    pub used_most: AtomicU64,
}

impl Pool {
    pub fn new(device: &'static Device, memory: PoolMemory) -> Self {
        let settings = [1, 1, 1, 0].map(AtomicU64::new);
        let rights = Rights::none();
        if memory == PoolMemory::Device {
            rights.set(device.number as u32, true, true);
        }
        Self { device, memory, rights, settings, used: AtomicU64::new(0), used_most: AtomicU64::new(0) }
    }

    pub fn count(&self, bytes: u64) {
        let used = self.used.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.used_most.fetch_max(used, Ordering::Relaxed);
    }
}

/// Where a pool's memory lies: one default pool for each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    Device(CUdevice),
    Host,
    /// Managed memory, by the device that is preferred, if any.
    Managed(Option<CUdevice>),
}

impl Place {
    /// A new pool there.
    pub fn pool(self) -> Answer<Pool> {
        let (number, memory) = match self {
            Self::Device(number) => (number, PoolMemory::Device),
            Self::Host => (0, PoolMemory::Host),
            Self::Managed(number) => (number.unwrap_or(0), PoolMemory::Managed),
        };
        Ok(Pool::new(device(number)?, memory))
    }
}

/// Default pools, made when first asked for.
static DEFAULT: Mutex<BTreeMap<Place, CUmemoryPool>> = Mutex::new(BTreeMap::new());
/// The pools that programs have set in place of them.
static PRESENT: Mutex<BTreeMap<Place, CUmemoryPool>> = Mutex::new(BTreeMap::new());

fn lock(
    pools: &'static Mutex<BTreeMap<Place, CUmemoryPool>>,
) -> MutexGuard<'static, BTreeMap<Place, CUmemoryPool>> {
    // One insertion or removal each: whole after a panic elsewhere.
    pools.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn default_pool(place: Place) -> Answer<CUmemoryPool> {
    let mut pools = lock(&DEFAULT);
    if let Some(&pool) = pools.get(&place) {
        return Ok(pool);
    }
    let pool = POOLS.insert(place.pool()?);
    pools.insert(place, pool);
    Ok(pool)
}

pub fn is_default(pool: CUmemoryPool) -> bool {
    lock(&DEFAULT).values().any(|&default| default == pool)
}

pub fn present_pool(place: Place) -> Answer<CUmemoryPool> {
    let present = lock(&PRESENT).get(&place).copied();
    present.map_or_else(|| default_pool(place), Ok)
}

pub fn set_present_pool(place: Place, pool: CUmemoryPool) {
    lock(&PRESENT).insert(place, pool);
}

/// Destroys a pool; its allocations stay.
pub fn destroy(pool: CUmemoryPool) -> Answer {
    POOLS.remove(pool)?;
    lock(&PRESENT).retain(|_, present| *present != pool);
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

/// Frees an allocation of the device. Work on it is done. Its context may be gone already, if it was destroyed while the free
/// was pending.
pub fn free(address: CUdeviceptr) -> Answer {
    let origin = disown(address).ok_or_else(|| {
        check::tell(|sanitizer| sanitizer.host_free_failed(address));
        CUresult::INVALID_VALUE
    })?;
    let bytes = memory().find(address).map_or(0, |allocation| allocation.size());
    memory().free(address).map_err(|error| code_of(&error))?;
    check::tell(|sanitizer| sanitizer.host_freed(address));
    // A pool destroyed before its allocations need not be told.
    if let Origin::Pool { pool, .. } = origin
        && let Ok(pool) = POOLS.get(pool)
    {
        pool.used.fetch_sub(bytes, Ordering::Relaxed);
    }
    Ok(())
}
