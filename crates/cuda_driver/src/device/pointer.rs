//! What an address is: attributes of pointers, and advice on managed memory.

use std::ffi::c_void;

use virtual_gpu::memory::AllocationKind;

use crate::abi::attributes::{memory_type, pointer as attribute};
use crate::abi::{Answer, CUdevice, CUdeviceptr, CUmemLocation, CUresult, CUstream, In, Out};
use crate::device::context::{Context, Origin, current, owner_of};
use crate::device::memory::allocation;
use crate::device::stream::target;
use crate::device::work::Op;
use crate::device::{gpu, initialised, pool};

/// What is known of the allocation that holds an address.
struct Known {
    start: u64,
    size: u64,
    owner: Option<std::sync::Arc<Context>>,
    origin: Origin,
}

fn known(address: CUdeviceptr) -> Option<Known> {
    let allocation = gpu().memory().find(address)?;
    let start = allocation.address();
    // A module's variables belong to no list.
    let variable = match allocation.kind() {
        AllocationKind::Managed => Origin::Managed,
        _ => Origin::Device,
    };
    let (owner, origin) = owner_of(start).map_or((None, variable), |(owner, origin)| (Some(owner), origin));
    Some(Known { start, size: allocation.size(), owner, origin })
}

/// Stores one attribute. `Ok(false)` when an address has no such attribute.
fn tell(place: *mut c_void, number: u32, address: CUdeviceptr) -> Answer<bool> {
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
    if number == attribute::MAPPED {
        return flag(known.is_some()).map(|()| true);
    }
    let Some(known) = known else { return Ok(false) };
    let on_host = matches!(known.origin, Origin::PinnedHost { .. } | Origin::Registered);
    match number {
        attribute::CONTEXT => wide(known.owner.map_or(0, |owner| owner.handle as u64))?,
        attribute::MEMORY_TYPE => word(if on_host { memory_type::HOST } else { memory_type::DEVICE })?,
        attribute::DEVICE_POINTER => wide(address)?,
        attribute::HOST_POINTER if on_host || known.origin == Origin::Managed => wide(address)?,
        attribute::HOST_POINTER => return Ok(false),
        attribute::SYNC_MEMOPS => word(0)?,
        // Each allocation has an address of its own for the life of the process, which numbers it as well.
        attribute::BUFFER_ID | attribute::MEMORY_BLOCK_ID => wide(known.start)?,
        attribute::IS_MANAGED => word((known.origin == Origin::Managed).into())?,
        attribute::DEVICE_ORDINAL => word(0)?,
        attribute::IS_LEGACY_CUDA_IPC_CAPABLE | attribute::IS_GPU_DIRECT_RDMA_CAPABLE => word(0)?,
        attribute::RANGE_START_ADDR | attribute::MAPPING_BASE_ADDR => wide(known.start)?,
        attribute::RANGE_SIZE | attribute::MAPPING_SIZE => wide(known.size)?,
        attribute::ALLOWED_HANDLE_TYPES => wide(0)?,
        attribute::ACCESS_FLAGS => word(3)?,
        attribute::MEMPOOL_HANDLE => match pool::pool_of(known.origin) {
            Some(pool) => wide(pool as u64)?,
            None => wide(0)?,
        },
        attribute::IS_HW_DECOMPRESS_CAPABLE => word(0)?,
        _ => return Err(CUresult::INVALID_VALUE),
    }
    Ok(true)
}

pub fn cuPointerGetAttribute(place: *mut c_void, number: u32, address: CUdeviceptr) -> Answer {
    initialised()?;
    if tell(place, number, address)? { Ok(()) } else { Err(CUresult::INVALID_VALUE) }
}

/// As one attribute after the other, but an address that the device does not know is no error: it has zeros.
pub fn cuPointerGetAttributes(
    count: u32,
    numbers: In<u32>,
    places: In<*mut c_void>,
    address: CUdeviceptr,
) -> Answer {
    initialised()?;
    let count = count as usize;
    for (number, place) in numbers.array(count)?.into_iter().zip(places.array(count)?) {
        if !tell(place, number, address)? {
            let narrow = matches!(
                number,
                attribute::MEMORY_TYPE
                    | attribute::SYNC_MEMOPS
                    | attribute::IS_MANAGED
                    | attribute::IS_LEGACY_CUDA_IPC_CAPABLE
                    | attribute::IS_GPU_DIRECT_RDMA_CAPABLE
                    | attribute::ACCESS_FLAGS
            );
            match number {
                // SAFETY: the caller vouches for places of the attributes' widths.
                attribute::DEVICE_ORDINAL => unsafe { Out::<i32>::new(place.cast()) }.set(-2)?,
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
    if value.is_null() || number != attribute::SYNC_MEMOPS { Err(CUresult::INVALID_VALUE) } else { Ok(()) }
}

/// Fails unless the range lies in managed memory.
pub fn managed(address: CUdeviceptr, bytes: usize) -> Answer {
    let known = known(address).ok_or(CUresult::INVALID_VALUE)?;
    let inside = bytes as u64 <= known.start + known.size - address;
    if known.origin == Origin::Managed && inside && bytes > 0 { Ok(()) } else { Err(CUresult::INVALID_VALUE) }
}

/// The host, as a device's number.
const CPU: CUdevice = -1;

fn place(device: CUdevice) -> Answer {
    if device == CPU { Ok(()) } else { crate::device::devices::device(device) }
}

pub fn cuMemAdvise(address: CUdeviceptr, bytes: usize, advice: u32, dev: CUdevice) -> Answer {
    const ADVICES: std::ops::RangeInclusive<u32> = 1..=6;
    current()?;
    managed(address, bytes)?;
    place(dev)?;
    if ADVICES.contains(&advice) { Ok(()) } else { Err(CUresult::INVALID_VALUE) }
}

pub fn cuMemAdvise_v2(address: CUdeviceptr, bytes: usize, advice: u32, location: CUmemLocation) -> Answer {
    cuMemAdvise(address, bytes, advice, device_of(location))
}

/// Fails for a place where memory cannot lie.
pub fn location(location: CUmemLocation) -> Answer {
    place(device_of(location))
}

fn device_of(location: CUmemLocation) -> CUdevice {
    const DEVICE: u32 = 1;
    if location.r#type == DEVICE { location.id } else { CPU }
}

pub fn cuMemPrefetchAsync(address: CUdeviceptr, bytes: usize, dev: CUdevice, stream: CUstream) -> Answer {
    let target = target(stream)?;
    managed(address, bytes)?;
    place(dev)?;
    // Host and device share the bytes: there is nothing to move.
    target.issue(Op::Nothing)
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
    const READ_MOSTLY: u32 = 1;
    const LAST_PREFETCH: u32 = 4;
    const INVALID_DEVICE: i32 = -2;
    current()?;
    managed(address, bytes)?;
    if place.is_null() || size < 4 || !size.is_multiple_of(4) || !(READ_MOSTLY..=8).contains(&number) {
        return Err(CUresult::INVALID_VALUE);
    }
    // SAFETY: the caller vouches for a place of `size` bytes.
    let words = unsafe { Out::<i32>::new(place.cast()) };
    // Nothing is kept of advice and prefetches.
    let value = if (READ_MOSTLY + 1..=LAST_PREFETCH).contains(&number) { INVALID_DEVICE } else { 0 };
    (0..size / 4).for_each(|index| words.set_at(index, value));
    Ok(())
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
