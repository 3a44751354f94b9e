//! Stream-ordered memory: pools, and what is allocated from them.
//!
//! An allocation is there as soon as it is asked for, which is earlier than its stream's order demands; a free waits
//! its stream's turn.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::abi::{
    Answer, CUdevice, CUdeviceptr, CUmemAccessDesc, CUmemLocation, CUmemPoolProps, CUmemoryPool, CUresult,
    CUstream, Handle, In, Out,
};
use crate::check;
use crate::device::context::{Origin, owner_of};
use crate::device::devices::device;
use crate::device::registry::Registry;
use crate::device::stream::target;
use crate::device::work::Op;
use crate::device::{gpu, graph, initialised, memory};

static POOLS: Registry<Pool> = Registry::new(CUresult::INVALID_VALUE);

const LOCATION_DEVICE: u32 = 1;
const ALLOCATION_PINNED: u32 = 1;

/// A memory pool. All give from the device's one memory; what differs is what they count.
pub struct Pool {
    /// Reuse flags and the release threshold, which decide nothing here.
    settings: [AtomicU64; 4],
    used: AtomicU64,
    used_most: AtomicU64,
}

impl Pool {
    fn new() -> Self {
        let settings = [1, 1, 1, 0].map(AtomicU64::new);
        Self { settings, used: AtomicU64::new(0), used_most: AtomicU64::new(0) }
    }

    fn count(&self, bytes: u64) {
        let used = self.used.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.used_most.fetch_max(used, Ordering::Relaxed);
    }
}

/// The device's own pool, and the one that it uses at present.
fn default_pool() -> CUmemoryPool {
    static DEFAULT: OnceLock<Handle> = OnceLock::new();
    *DEFAULT.get_or_init(|| POOLS.insert(Pool::new()))
}

static PRESENT: Mutex<Option<CUmemoryPool>> = Mutex::new(None);

fn present_pool() -> CUmemoryPool {
    PRESENT.lock().unwrap_or_else(PoisonError::into_inner).unwrap_or_else(default_pool)
}

/// Notes that an allocation of a pool is gone.
pub fn returned(pool: CUmemoryPool, bytes: u64) {
    // A pool that was destroyed before its allocations has nobody left to tell.
    if let Ok(pool) = POOLS.get(pool) {
        pool.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

fn allocate(place: Out<CUdeviceptr>, bytes: usize, pool: CUmemoryPool, stream: CUstream) -> Answer {
    place.required()?;
    let target = target(stream)?;
    let known = POOLS.get(pool)?;
    if let Some(capture) = target.capture() {
        let (op, address) = graph::captured_allocation(bytes)?;
        capture.add(&target, op)?;
        return place.set(address);
    }
    let address = memory::allocate(bytes, Origin::Pool(pool))?;
    place.set(address)?;
    known.count(bytes as u64);
    match check::sanitizer() {
        Some(_) => target.issue(Op::Take { address, bytes: bytes as u64 }),
        None => Ok(()),
    }
}

pub fn cuMemAllocAsync(place: Out<CUdeviceptr>, bytes: usize, stream: CUstream) -> Answer {
    initialised()?;
    allocate(place, bytes, present_pool(), stream)
}

pub fn cuMemAllocFromPoolAsync(
    place: Out<CUdeviceptr>,
    bytes: usize,
    pool: CUmemoryPool,
    stream: CUstream,
) -> Answer {
    allocate(place, bytes, pool, stream)
}

pub fn cuMemFreeAsync(address: CUdeviceptr, stream: CUstream) -> Answer {
    let target = target(stream)?;
    if address == 0 {
        return Err(CUresult::INVALID_VALUE);
    }
    match owner_of(address) {
        Some((_, Origin::Device | Origin::Pool(_))) => {}
        Some((_, Origin::Graph)) => {
            let capturing = target.capture().is_some();
            return target.issue(if capturing { Op::Release(address) } else { Op::Nothing });
        }
        _ => {
            check::tell(|sanitizer| sanitizer.host_free_failed(address));
            return Err(CUresult::INVALID_VALUE);
        }
    }
    // A captured free runs with every launch of the graph, and the memory was allocated once: it stays.
    if target.capture().is_some() { target.issue(Op::Nothing) } else { target.issue(Op::Free(address)) }
}

pub fn cuMemPoolCreate(pool: Out<CUmemoryPool>, properties: In<CUmemPoolProps>) -> Answer {
    initialised()?;
    pool.required()?;
    let properties = properties.get()?;
    if properties.allocType != ALLOCATION_PINNED {
        return Err(CUresult::INVALID_VALUE);
    }
    if properties.location.r#type != LOCATION_DEVICE || properties.handleTypes != 0 {
        return Err(CUresult::NOT_SUPPORTED);
    }
    device(properties.location.id)?;
    pool.set(POOLS.insert(Pool::new()))
}

pub fn cuMemPoolDestroy(pool: CUmemoryPool) -> Answer {
    initialised()?;
    if pool == default_pool() {
        return Err(CUresult::INVALID_VALUE);
    }
    POOLS.remove(pool)?;
    let mut present = PRESENT.lock().unwrap_or_else(PoisonError::into_inner);
    if *present == Some(pool) {
        *present = None;
    }
    Ok(())
}

pub fn cuDeviceGetDefaultMemPool(pool: Out<CUmemoryPool>, dev: CUdevice) -> Answer {
    pool.required()?;
    device(dev)?;
    pool.set(default_pool())
}

pub fn cuDeviceGetMemPool(pool: Out<CUmemoryPool>, dev: CUdevice) -> Answer {
    pool.required()?;
    device(dev)?;
    pool.set(present_pool())
}

pub fn cuDeviceSetMemPool(dev: CUdevice, pool: CUmemoryPool) -> Answer {
    device(dev)?;
    POOLS.get(pool)?;
    *PRESENT.lock().unwrap_or_else(PoisonError::into_inner) = Some(pool);
    Ok(())
}

/// `CU_MEM_ALLOCATION_TYPE_PINNED` on the one device: the only kind of pool.
fn pinned_here(place: In<CUmemLocation>, kind: u32) -> Answer {
    let location = place.get()?;
    if location.r#type != LOCATION_DEVICE || kind != ALLOCATION_PINNED {
        return Err(CUresult::NOT_SUPPORTED);
    }
    device(location.id)
}

pub fn cuMemGetDefaultMemPool(pool: Out<CUmemoryPool>, location: In<CUmemLocation>, kind: u32) -> Answer {
    pool.required()?;
    pinned_here(location, kind)?;
    pool.set(default_pool())
}

pub fn cuMemGetMemPool(pool: Out<CUmemoryPool>, location: In<CUmemLocation>, kind: u32) -> Answer {
    pool.required()?;
    pinned_here(location, kind)?;
    pool.set(present_pool())
}

pub fn cuMemSetMemPool(location: In<CUmemLocation>, kind: u32, pool: CUmemoryPool) -> Answer {
    pinned_here(location, kind)?;
    cuDeviceSetMemPool(0, pool)
}

pub fn cuMemPoolTrimTo(pool: CUmemoryPool, _keep: usize) -> Answer {
    POOLS.get(pool).map(|_| ())
}

/// A number of `CUmemPool_attribute` as a setting: its place, and whether it is 32 bits wide.
fn setting(number: u32) -> Option<(usize, bool)> {
    const RELEASE_THRESHOLD: u32 = 4;
    match number {
        1..=3 => Some((number as usize - 1, true)),
        RELEASE_THRESHOLD => Some((3, false)),
        _ => None,
    }
}

const RESERVED_NOW: u32 = 5;
const RESERVED_MOST: u32 = 6;
const USED_NOW: u32 = 7;
const USED_MOST: u32 = 8;

pub fn cuMemPoolSetAttribute(pool: CUmemoryPool, number: u32, value: *mut c_void) -> Answer {
    let pool = POOLS.get(pool)?;
    match setting(number) {
        Some((place, true)) => {
            // SAFETY: the value of this attribute is an int, which the caller vouches for.
            let value = unsafe { In::<u32>::new(value.cast()) }.get()?;
            pool.settings[place].store(value.into(), Ordering::Relaxed);
        }
        Some((place, false)) => {
            // SAFETY: the value of this attribute is 64 bits wide, which the caller vouches for.
            let value = unsafe { In::<u64>::new(value.cast()) }.get()?;
            pool.settings[place].store(value, Ordering::Relaxed);
        }
        None if matches!(number, RESERVED_MOST | USED_MOST) => {
            // SAFETY: as above. High-water marks can be reset, to zero only.
            if unsafe { In::<u64>::new(value.cast()) }.get()? != 0 {
                return Err(CUresult::INVALID_VALUE);
            }
            pool.used_most.store(pool.used.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        None => return Err(CUresult::INVALID_VALUE),
    }
    Ok(())
}

pub fn cuMemPoolGetAttribute(pool: CUmemoryPool, number: u32, value: *mut c_void) -> Answer {
    let pool = POOLS.get(pool)?;
    // SAFETY: the caller vouches for a place of the attribute's width.
    let (narrow, wide) = unsafe { (Out::<u32>::new(value.cast()), Out::<u64>::new(value.cast())) };
    match (setting(number), number) {
        (Some((place, true)), _) => narrow.set(pool.settings[place].load(Ordering::Relaxed) as u32),
        (Some((place, false)), _) => wide.set(pool.settings[place].load(Ordering::Relaxed)),
        (None, RESERVED_NOW | USED_NOW) => wide.set(pool.used.load(Ordering::Relaxed)),
        (None, RESERVED_MOST | USED_MOST) => wide.set(pool.used_most.load(Ordering::Relaxed)),
        _ => Err(CUresult::INVALID_VALUE),
    }
}

pub fn cuMemPoolSetAccess(pool: CUmemoryPool, accesses: In<CUmemAccessDesc>, count: usize) -> Answer {
    POOLS.get(pool)?;
    for access in accesses.array(count)? {
        if access.location.r#type != LOCATION_DEVICE {
            return Err(CUresult::INVALID_VALUE);
        }
        device(access.location.id)?;
    }
    Ok(())
}

pub fn cuMemPoolGetAccess(flags: Out<u32>, pool: CUmemoryPool, location: Out<CUmemLocation>) -> Answer {
    const READ_WRITE: u32 = 3;
    flags.required()?;
    POOLS.get(pool)?;
    device(location.get()?.id)?;
    flags.set(READ_WRITE)
}

/// Frees an allocation in its stream's turn.
pub fn free_in_turn(address: CUdeviceptr) -> Answer {
    let (owner, origin) = owner_of(address).ok_or_else(|| {
        check::tell(|sanitizer| sanitizer.host_free_failed(address));
        CUresult::INVALID_VALUE
    })?;
    let bytes = gpu().memory().find(address).map_or(0, |allocation| allocation.size());
    owner.owned().remove(&address);
    gpu().memory().free(address).map_err(|error| crate::device::code_of(&error))?;
    check::tell(|sanitizer| sanitizer.host_freed(address));
    if let Origin::Pool(pool) = origin {
        returned(pool, bytes);
    }
    Ok(())
}

/// The pool that an allocation came from.
pub fn pool_of(origin: Origin) -> Option<CUmemoryPool> {
    match origin {
        Origin::Pool(pool) => Some(pool),
        _ => None,
    }
}
