//! Stream-ordered memory: allocating from pools, and the pools themselves.

use std::ffi::c_void;
use std::sync::atomic::Ordering;

use crate::abi::{
    Answer, CUdevice, CUdeviceptr, CUmemAccess_flags, CUmemAccessDesc, CUmemAllocationType, CUmemLocation,
    CUmemLocationType, CUmemPool_attribute as Attribute, CUmemPoolProps, CUmemoryPool, CUresult, CUstream,
    In, Out,
};
use crate::check;
use crate::objects::allocation::{Origin, PoolMemory, allocate_from_pool, owner_of};
use crate::objects::device::{accessor, device, initialised, memory};
use crate::objects::pool::{self, Free, POOLS, Place, Take, default_pool, present_pool, set_present_pool};
use crate::objects::stream::target;
use crate::objects::work::Nothing;

fn allocate(place: Out<CUdeviceptr>, bytes: usize, pool: CUmemoryPool, stream: CUstream) -> Answer {
    place.required()?;
    let target = target(stream)?;
    let known = POOLS.get(pool)?;
    if bytes == 0 {
        return place.set(0);
    }
    if let Some(capture) = target.capture() {
        return place.set(capture.allocate(&target, bytes)?);
    }
    let origin = Origin::Pool { pool, memory: known.memory };
    let address = allocate_from_pool(&target.context, known.device, bytes, &known.rights, origin)?;
    place.set(address)?;
    known.count(bytes as u64);
    match check::sanitizer() {
        Some(_) => target.issue(Take { address, bytes: bytes as u64 }),
        None => Ok(()),
    }
}

pub fn cuMemAllocAsync(place: Out<CUdeviceptr>, bytes: usize, stream: CUstream) -> Answer {
    initialised()?;
    let device = target(stream)?.context.device.number;
    allocate(place, bytes, present_pool(Place::Device(device))?, stream)
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
    match (owner_of(address), target.capture()) {
        // A captured free runs with every launch of the graph, and the memory was allocated once: it stays.
        (Some((_, Origin::Device | Origin::Pool { .. })), Some(_))
        | (Some((_, Origin::Graph { .. })), None) => target.issue(Nothing),
        (Some((_, Origin::Device | Origin::Pool { .. })), None) => target.issue(Free(address)),
        (Some((_, Origin::Graph { .. })), Some(capture)) => capture.free(&target, address),
        _ => {
            check::tell(|sanitizer| sanitizer.host_free_failed(address));
            Err(CUresult::INVALID_VALUE)
        }
    }
}

pub fn cuMemPoolCreate(pool: Out<CUmemoryPool>, properties: In<CUmemPoolProps>) -> Answer {
    initialised()?;
    pool.required()?;
    let properties = properties.get()?;
    let kind = properties.location.r#type.try_into()?;
    let place = place_of(kind, properties.location.id, properties.allocType)?;
    if kind == CUmemLocationType::HOST_NUMA_CURRENT {
        return Err(CUresult::INVALID_VALUE);
    }
    if properties.handleTypes != 0 {
        return Err(CUresult::NOT_SUPPORTED);
    }
    pool.set(POOLS.insert(place.pool()?))
}

pub fn cuMemPoolDestroy(pool: CUmemoryPool) -> Answer {
    initialised()?;
    if pool::is_default(pool) {
        return Err(CUresult::INVALID_VALUE);
    }
    pool::destroy(pool)
}

pub fn cuDeviceGetDefaultMemPool(pool: Out<CUmemoryPool>, dev: CUdevice) -> Answer {
    pool.required()?;
    pool.set(default_pool(Place::Device(device(dev)?.number))?)
}

pub fn cuDeviceGetMemPool(pool: Out<CUmemoryPool>, dev: CUdevice) -> Answer {
    pool.required()?;
    pool.set(present_pool(Place::Device(device(dev)?.number))?)
}

pub fn cuDeviceSetMemPool(dev: CUdevice, pool: CUmemoryPool) -> Answer {
    let device = device(dev)?;
    set_present(Place::Device(device.number), pool)
}

/// Makes a pool present in a place whose memory it has.
fn set_present(place: Place, pool: CUmemoryPool) -> Answer {
    let (known, own) = (POOLS.get(pool)?, place.pool()?);
    if known.memory != own.memory || known.device.number != own.device.number {
        return Err(CUresult::INVALID_VALUE);
    }
    set_present_pool(place, pool);
    Ok(())
}

/// The place of a pool's memory, from its location and `CU_MEM_ALLOCATION_TYPE_…`. The answers are an H200's (CUDA 13).
fn place_of(location: CUmemLocationType, id: i32, kind: u32) -> Answer<Place> {
    use CUmemLocationType::{DEVICE, HOST, HOST_NUMA, HOST_NUMA_CURRENT, INVALID};
    match (CUmemAllocationType::try_from(kind)?, location) {
        (CUmemAllocationType::PINNED, DEVICE) => Ok(Place::Device(device(id)?.number)),
        (CUmemAllocationType::MANAGED, DEVICE) => Ok(Place::Managed(Some(device(id)?.number))),
        (CUmemAllocationType::PINNED, HOST | HOST_NUMA | HOST_NUMA_CURRENT) => Ok(Place::Host),
        (CUmemAllocationType::MANAGED, _) => Ok(Place::Managed(None)),
        (CUmemAllocationType::PINNED, INVALID) | (CUmemAllocationType::INVALID, _) => {
            Err(CUresult::INVALID_VALUE)
        }
    }
}

/// The same for a default pool, which the calling thread's own node does not have.
fn place_of_default(location: In<CUmemLocation>, kind: u32) -> Answer<Place> {
    let CUmemLocation { r#type, id } = location.get()?;
    match r#type.try_into()? {
        CUmemLocationType::HOST_NUMA_CURRENT => Err(CUresult::NOT_SUPPORTED),
        location => place_of(location, id, kind),
    }
}

pub fn cuMemGetDefaultMemPool(pool: Out<CUmemoryPool>, location: In<CUmemLocation>, kind: u32) -> Answer {
    pool.required()?;
    pool.set(default_pool(place_of_default(location, kind)?)?)
}

pub fn cuMemGetMemPool(pool: Out<CUmemoryPool>, location: In<CUmemLocation>, kind: u32) -> Answer {
    pool.required()?;
    pool.set(present_pool(place_of_default(location, kind)?)?)
}

pub fn cuMemSetMemPool(location: In<CUmemLocation>, kind: u32, pool: CUmemoryPool) -> Answer {
    set_present(place_of_default(location, kind)?, pool)
}

pub fn cuMemPoolTrimTo(pool: CUmemoryPool, _keep: usize) -> Answer {
    POOLS.get(pool).map(|_| ())
}

/// An attribute that is a setting: its index, and whether it is 32 bits wide.
fn setting(attribute: Attribute) -> Option<(usize, bool)> {
    match attribute {
        Attribute::REUSE_FOLLOW_EVENT_DEPENDENCIES => Some((0, true)),
        Attribute::REUSE_ALLOW_OPPORTUNISTIC => Some((1, true)),
        Attribute::REUSE_ALLOW_INTERNAL_DEPENDENCIES => Some((2, true)),
        Attribute::RELEASE_THRESHOLD => Some((3, false)),
        _ => None,
    }
}

pub fn cuMemPoolSetAttribute(pool: CUmemoryPool, number: u32, value: *mut c_void) -> Answer {
    let pool = POOLS.get(pool)?;
    let attribute = Attribute::try_from(number)?;
    // SAFETY: the caller vouches for a value of the attribute's width.
    let (narrow, wide) = unsafe { (In::<u32>::new(value.cast()), In::<u64>::new(value.cast())) };
    match (setting(attribute), attribute) {
        (Some((place, true)), _) => pool.settings[place].store(narrow.get()?.into(), Ordering::Relaxed),
        (Some((place, false)), _) => pool.settings[place].store(wide.get()?, Ordering::Relaxed),
        // High-water marks can be reset, but only to zero.
        (None, Attribute::RESERVED_MEM_HIGH | Attribute::USED_MEM_HIGH) if wide.get()? == 0 => {
            pool.used_most.store(pool.used.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        _ => return Err(CUresult::INVALID_VALUE),
    }
    Ok(())
}

pub fn cuMemPoolGetAttribute(pool: CUmemoryPool, number: u32, value: *mut c_void) -> Answer {
    let pool = POOLS.get(pool)?;
    let attribute = Attribute::try_from(number)?;
    // SAFETY: the caller vouches for a place of the attribute's width.
    let (narrow, wide) = unsafe { (Out::<u32>::new(value.cast()), Out::<u64>::new(value.cast())) };
    match (setting(attribute), attribute) {
        (Some((place, true)), _) => narrow.set(pool.settings[place].load(Ordering::Relaxed) as u32),
        (Some((place, false)), _) => wide.set(pool.settings[place].load(Ordering::Relaxed)),
        (None, Attribute::RESERVED_MEM_CURRENT | Attribute::USED_MEM_CURRENT) => {
            wide.set(pool.used.load(Ordering::Relaxed))
        }
        _ => wide.set(pool.used_most.load(Ordering::Relaxed)),
    }
}

pub fn cuMemPoolSetAccess(pool: CUmemoryPool, accesses: In<CUmemAccessDesc>, count: usize) -> Answer {
    let pool = POOLS.get(pool)?;
    let mut asked = Vec::new();
    for access in accesses.array(count)? {
        let device = accessor(access.location, pool.device)?;
        let flags = CUmemAccess_flags::try_from(access.flags)?;
        // Access cannot be taken from the device whose memory it is. The answers are an H100's (driver 580.159.04).
        if pool.memory == PoolMemory::Device && device.number == pool.device.number {
            match flags {
                CUmemAccess_flags::PROT_READWRITE => {}
                CUmemAccess_flags::PROT_READ => return Err(CUresult::NOT_SUPPORTED),
                CUmemAccess_flags::PROT_NONE => return Err(CUresult::INVALID_DEVICE),
            }
        }
        asked.push((device, flags));
    }
    for (device, flags) in asked {
        pool.rights.set(device.number as u32, flags.reads(), flags.writes());
    }
    memory().access_changed();
    Ok(())
}

pub fn cuMemPoolGetAccess(flags: Out<u32>, pool: CUmemoryPool, location: Out<CUmemLocation>) -> Answer {
    flags.required()?;
    let pool = POOLS.get(pool)?;
    let location = location.get()?;
    if location.r#type != CUmemLocationType::DEVICE as u32 {
        return Err(CUresult::INVALID_VALUE);
    }
    flags.set(CUmemAccess_flags::of(pool.rights.of(device(location.id)?.number as u32)) as u32)
}
