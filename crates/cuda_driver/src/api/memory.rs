//! Device memory: allocating and freeing it.

use crate::abi::{Answer, CUdeviceptr, CUresult, Out};
use crate::check;
use crate::objects::allocation::{Origin, allocate, owner_of, release};
use crate::objects::context::{current, current_if_any};
use crate::objects::device::memory;
use crate::objects::pool;

pub fn cuMemAlloc_v2(place: Out<CUdeviceptr>, bytes: usize) -> Answer {
    place.required()?;
    place.set(allocate(bytes, Origin::Device)?)
}

/// Rows start at multiples of this, which suits every access width and sector.
const PITCH: usize = 512;

pub fn cuMemAllocPitch_v2(
    place: Out<CUdeviceptr>,
    pitch: Out<usize>,
    width: usize,
    height: usize,
    element_size: u32,
) -> Answer {
    place.required()?;
    pitch.required()?;
    if !matches!(element_size, 4 | 8 | 16) || width == 0 || height == 0 {
        return Err(CUresult::INVALID_VALUE);
    }
    let row = width.checked_next_multiple_of(PITCH).ok_or(CUresult::INVALID_VALUE)?;
    place.set(allocate(row.checked_mul(height).ok_or(CUresult::OUT_OF_MEMORY)?, Origin::Device)?)?;
    pitch.set(row)
}

pub fn cuMemFree_v2(address: CUdeviceptr) -> Answer {
    current_if_any()?;
    if address == 0 {
        return Ok(());
    }
    let (owner, origin) = owner_of(address).ok_or_else(|| {
        check::tell(|sanitizer| sanitizer.host_free_failed(address));
        CUresult::INVALID_VALUE
    })?;
    if matches!(origin, Origin::PinnedHost { .. } | Origin::Registered) {
        return Err(CUresult::INVALID_VALUE);
    }
    if matches!(origin, Origin::Pool { .. }) {
        // The real driver does not wait for work that uses it.
        owner.queue.directly(|| check::tell(|sanitizer| sanitizer.host_frees(address)));
    }
    // Work that uses it finishes first, as with the real driver.
    owner.queue.drain()?;
    match origin {
        // It stays in place for the graph's next launch.
        Origin::Graph { .. } => {}
        Origin::Managed => release(address),
        _ => pool::free(address)?,
    }
    owner.intact()
}

pub fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) -> Answer {
    free.required()?;
    total.required()?;
    let (left, all) = current()?.quota.memory().info();
    free.set(left as usize)?;
    total.set(all as usize)
}

pub fn cuMemGetAddressRange_v2(base: Out<CUdeviceptr>, size: Out<usize>, address: CUdeviceptr) -> Answer {
    current()?;
    let allocation = memory().find(address).ok_or(CUresult::NOT_FOUND)?;
    base.set_if_given(allocation.address());
    size.set_if_given(allocation.size() as usize);
    Ok(())
}
