//! Attributes of pointers, and advice on managed memory.

use std::ffi::c_void;
use std::sync::Arc;

use virtual_gpu::memory::AllocationKind;

use crate::abi::{
    Answer, CUdevice, CUdeviceptr, CUmem_range_attribute as RangeAttribute, CUmemAccess_flags, CUmemLocation,
    CUmemLocationType, CUmemorytype, CUpointer_attribute as Attribute, CUresult, CUstream, In, Out,
};
use crate::objects::allocation::{Origin, owner_of};
use crate::objects::context::{Context, current};
use crate::objects::device::{device, initialised, memory};
use crate::objects::managed;
use crate::objects::stream::target;
use crate::objects::transfer::allocation;
use crate::objects::work::Nothing;

struct Known {
    start: u64,
    size: u64,
    owner: Option<Arc<Context>>,
    origin: Origin,
    /// The device that owns the memory, or whose context pinned it.
    device: CUdevice,
    /// Whether kernels of the current context's device, or of the memory's own, can read and write it.
    access: (bool, bool),
}

fn known(address: CUdeviceptr) -> Option<Known> {
    let allocation = memory().find(address)?;
    let start = allocation.address();
    // A module's variables are in no list.
    let variable = match allocation.kind() {
        AllocationKind::Managed => Origin::Managed,
        _ => Origin::Device,
    };
    let (owner, origin) = owner_of(start).map_or((None, variable), |(owner, origin)| (Some(owner), origin));
    let of_owner = owner.as_ref().map_or(0, |owner| owner.device.number);
    let device = allocation.device().map_or(of_owner, |device| device as CUdevice);
    let asking = current().map_or(device, |current| current.device.number);
    let access = allocation.access_of(asking as u32);
    Some(Known { start, size: allocation.size(), owner, origin, device, access })
}

/// Stores one attribute. `Ok(false)` if an address has no such attribute.
fn tell(place: *mut c_void, attribute: Attribute, address: CUdeviceptr) -> Answer<bool> {
    if place.is_null() {
        return Err(CUresult::INVALID_VALUE);
    }
    // SAFETY: the caller vouches for a place of the attribute's width.
    let word = |value: u32| unsafe { Out::<u32>::new(place.cast()) }.set(value);
    // SAFETY: as above.
    let flag = |value: bool| unsafe { Out::<u8>::new(place.cast()) }.set(value.into());
    // SAFETY: as above.
    let wide = |value: u64| unsafe { Out::<u64>::new(place.cast()) }.set(value);
    let known = known(address);
    if attribute == Attribute::MAPPED {
        return flag(known.is_some()).map(|()| true);
    }
    let Some(known) = known else { return Ok(false) };
    let on_host = known.origin.is_pinned();
    match attribute {
        Attribute::CONTEXT => wide(known.owner.map_or(0, |owner| owner.handle as u64))?,
        Attribute::MEMORY_TYPE => {
            word(if on_host { CUmemorytype::HOST } else { CUmemorytype::DEVICE } as u32)?
        }
        Attribute::DEVICE_POINTER => wide(address)?,
        Attribute::HOST_POINTER if on_host || known.origin.is_managed() => wide(address)?,
        Attribute::HOST_POINTER => return Ok(false),
        Attribute::SYNC_MEMOPS => word(0)?,
        // Each allocation has an address of its own for the life of the process, which also serves as its number.
        Attribute::BUFFER_ID | Attribute::MEMORY_BLOCK_ID => wide(known.start)?,
        Attribute::IS_MANAGED => word(known.origin.is_managed().into())?,
        Attribute::DEVICE_ORDINAL => word(known.device as u32)?,
        Attribute::IS_LEGACY_CUDA_IPC_CAPABLE | Attribute::IS_GPU_DIRECT_RDMA_CAPABLE => word(0)?,
        Attribute::RANGE_START_ADDR | Attribute::MAPPING_BASE_ADDR => wide(known.start)?,
        Attribute::RANGE_SIZE | Attribute::MAPPING_SIZE => wide(known.size)?,
        Attribute::ALLOWED_HANDLE_TYPES => wide(0)?,
        Attribute::ACCESS_FLAGS => word(CUmemAccess_flags::of(known.access) as u32)?,
        Attribute::MEMPOOL_HANDLE => wide(match known.origin {
            Origin::Pool { pool, .. } => pool as u64,
            _ => 0,
        })?,
        Attribute::IS_HW_DECOMPRESS_CAPABLE => word(0)?,
        // Told above, known or not.
        Attribute::MAPPED => {}
    }
    Ok(true)
}

pub fn cuPointerGetAttribute(place: *mut c_void, number: u32, address: CUdeviceptr) -> Answer {
    initialised()?;
    if tell(place, number.try_into()?, address)? { Ok(()) } else { Err(CUresult::INVALID_VALUE) }
}

/// Like one attribute after the other, but an address unknown to the device is not an error: its attributes are zero.
pub fn cuPointerGetAttributes(
    count: u32,
    numbers: In<u32>,
    places: In<*mut c_void>,
    address: CUdeviceptr,
) -> Answer {
    initialised()?;
    let count = count as usize;
    for (number, place) in numbers.array(count)?.into_iter().zip(places.array(count)?) {
        let attribute = Attribute::try_from(number)?;
        if !tell(place, attribute, address)? {
            let narrow = matches!(
                attribute,
                Attribute::MEMORY_TYPE
                    | Attribute::SYNC_MEMOPS
                    | Attribute::IS_MANAGED
                    | Attribute::IS_LEGACY_CUDA_IPC_CAPABLE
                    | Attribute::IS_GPU_DIRECT_RDMA_CAPABLE
                    | Attribute::ACCESS_FLAGS
            );
            match attribute {
                // SAFETY: the caller vouches for places of the attributes' widths.
                Attribute::DEVICE_ORDINAL => unsafe { Out::<i32>::new(place.cast()) }.set(-2)?,
                // SAFETY: as above.
                _ if narrow => unsafe { Out::<u32>::new(place.cast()) }.set(0)?,
                // SAFETY: as above.
                _ => unsafe { Out::<u64>::new(place.cast()) }.set(0)?,
            }
        }
    }
    Ok(())
}

pub fn cuPointerSetAttribute(value: *const c_void, number: u32, address: CUdeviceptr) -> Answer {
    current()?;
    allocation(address)?;
    if value.is_null() || number != Attribute::SYNC_MEMOPS as u32 {
        Err(CUresult::INVALID_VALUE)
    } else {
        Ok(())
    }
}

/// Fails unless the range is in managed memory.
pub fn check_managed(address: CUdeviceptr, bytes: usize) -> Answer {
    let known = known(address).ok_or(CUresult::INVALID_VALUE)?;
    let inside = bytes as u64 <= known.start + known.size - address;
    if known.origin.is_managed() && inside && bytes > 0 { Ok(()) } else { Err(CUresult::INVALID_VALUE) }
}

fn place(dev: CUdevice) -> Answer {
    if dev == managed::CPU { Ok(()) } else { device(dev).map(|_| ()) }
}

pub fn cuMemAdvise(address: CUdeviceptr, bytes: usize, advice: u32, dev: CUdevice) -> Answer {
    current()?;
    check_managed(address, bytes)?;
    place(dev)?;
    managed::advise(address, bytes, advice.try_into()?, dev);
    Ok(())
}

pub fn cuMemAdvise_v2(address: CUdeviceptr, bytes: usize, advice: u32, location: CUmemLocation) -> Answer {
    cuMemAdvise(address, bytes, advice, device_of(location))
}

/// Fails for a location that cannot hold memory.
pub fn location(location: CUmemLocation) -> Answer {
    place(device_of(location))
}

fn type_of(dev: CUdevice) -> CUmemLocationType {
    match dev {
        managed::NONE => CUmemLocationType::INVALID,
        managed::CPU => CUmemLocationType::HOST,
        _ => CUmemLocationType::DEVICE,
    }
}

fn device_of(location: CUmemLocation) -> CUdevice {
    if location.r#type == CUmemLocationType::DEVICE as u32 { location.id } else { managed::CPU }
}

pub fn cuMemPrefetchAsync(address: CUdeviceptr, bytes: usize, dev: CUdevice, stream: CUstream) -> Answer {
    let target = target(stream)?;
    check_managed(address, bytes)?;
    place(dev)?;
    managed::prefetched(address, bytes, dev);
    // Host and device share the bytes: there is nothing to move.
    target.issue(Nothing)
}

pub fn cuMemPrefetchAsync_v2(
    address: CUdeviceptr,
    bytes: usize,
    location: CUmemLocation,
    flags: u32,
    stream: CUstream,
) -> Answer {
    if flags != 0 {
        return Err(CUresult::INVALID_VALUE);
    }
    cuMemPrefetchAsync(address, bytes, device_of(location), stream)
}

pub fn cuMemRangeGetAttribute(
    place: *mut c_void,
    size: usize,
    number: u32,
    address: CUdeviceptr,
    bytes: usize,
) -> Answer {
    current()?;
    check_managed(address, bytes)?;
    let attribute = RangeAttribute::try_from(number)?;
    if place.is_null() || size < 4 || !size.is_multiple_of(4) {
        return Err(CUresult::INVALID_VALUE);
    }
    // SAFETY: the caller vouches for a place of `size` bytes.
    let words = unsafe { Out::<i32>::new(place.cast()) };
    let advice = managed::advice(address, bytes);
    let one = |value: i32| if size == 4 { words.set(value) } else { Err(CUresult::INVALID_VALUE) };
    match attribute {
        RangeAttribute::READ_MOSTLY => one(advice.read_mostly.into()),
        RangeAttribute::PREFERRED_LOCATION => one(advice.preferred),
        RangeAttribute::LAST_PREFETCH_LOCATION => one(advice.prefetched_to),
        RangeAttribute::ACCESSED_BY => {
            // Devices in their order, then the host, then none.
            let devices = advice.accessed_by.iter().filter(|&&device| device != managed::CPU);
            let host = advice.accessed_by.iter().filter(|&&device| device == managed::CPU);
            let all = devices.chain(host).copied().chain(std::iter::repeat(managed::NONE));
            all.take(size / 4).enumerate().for_each(|(index, device)| words.set_at(index, device));
            Ok(())
        }
        RangeAttribute::PREFERRED_LOCATION_TYPE => one(type_of(advice.preferred) as i32),
        RangeAttribute::LAST_PREFETCH_LOCATION_TYPE => one(type_of(advice.prefetched_to) as i32),
        // Meaningless where the type is no device's.
        RangeAttribute::PREFERRED_LOCATION_ID => one(advice.preferred.max(0)),
        RangeAttribute::LAST_PREFETCH_LOCATION_ID => one(advice.prefetched_to.max(0)),
    }
}

pub fn cuMemRangeGetAttributes(
    places: In<*mut c_void>,
    sizes: In<usize>,
    numbers: In<u32>,
    count: usize,
    address: CUdeviceptr,
    bytes: usize,
) -> Answer {
    current()?;
    if count == 0 {
        return Err(CUresult::INVALID_VALUE);
    }
    let places = places.array(count)?.into_iter().zip(sizes.array(count)?);
    for ((place, size), number) in places.zip(numbers.array(count)?) {
        cuMemRangeGetAttribute(place, size, number, address, bytes)?;
    }
    Ok(())
}
