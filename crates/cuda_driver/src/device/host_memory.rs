//! Host memory that kernels can reach: pinned, registered, managed. Its device address is its host address.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::abi::{Answer, CUdeviceptr, CUresult, Out};
use crate::check;
use crate::device::context::{Origin, current, current_if_any, owner_of};
use crate::device::gpu;

const PAGE: usize = 4096;

/// Host ranges that the device can reach, by their first byte.
static RANGES: Mutex<BTreeMap<usize, Range>> = Mutex::new(BTreeMap::new());

struct Range {
    bytes: usize,
    /// What to give back to the allocator, unless the memory is the program's.
    block: Option<Block>,
}

struct Block {
    start: *mut u8,
    layout: Layout,
    /// Whether it is a mapping of its own.
    #[cfg_attr(not(unix), allow(dead_code))]
    mapped: bool,
}

/// From this size on memory is asked of the system with the promise that most of it stays untouched, so that a program
/// may ask for as much managed memory as the board has.
#[cfg(unix)]
const RESERVE_FROM: usize = 1 << 24;

impl Block {
    fn zeroed(layout: Layout) -> Option<Self> {
        #[cfg(unix)]
        if layout.size() >= RESERVE_FROM {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            // SAFETY: a new anonymous mapping touches nothing that exists.
            let start = unsafe { libc::mmap(std::ptr::null_mut(), layout.size(), protection, flags, -1, 0) };
            if start != libc::MAP_FAILED {
                return Some(Self { start: start.cast(), layout, mapped: true });
            }
        }
        // SAFETY: the layout has a size.
        let start = unsafe { alloc_zeroed(layout) };
        (!start.is_null()).then_some(Self { start, layout, mapped: false })
    }

    fn give_back(self) {
        #[cfg(unix)]
        if self.mapped {
            // SAFETY: `zeroed` made this mapping with this size, and `self` is the only one to know it.
            unsafe { libc::munmap(self.start.cast(), self.layout.size()) };
            return;
        }
        // SAFETY: made by `alloc_zeroed` with this layout, and `self` is the only one to know it.
        unsafe { dealloc(self.start, self.layout) }
    }
}

// SAFETY: the pointer only travels to `give_back`; allocations belong to no thread.
unsafe impl Send for Block {}

fn ranges() -> MutexGuard<'static, BTreeMap<usize, Range>> {
    RANGES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the device can reach all of these bytes.
pub fn is_pinned(address: usize, bytes: usize) -> bool {
    ranges().range(..=address).next_back().is_some_and(|(&start, range)| {
        address - start <= range.bytes && bytes <= range.bytes - (address - start)
    })
}

/// Allocates page-aligned host memory that the current context owns and the device reaches.
fn allocate(bytes: usize, origin: Origin) -> Answer<usize> {
    let context = current()?;
    if bytes == 0 {
        return Err(CUresult::INVALID_VALUE);
    }
    // Alignment comes from a page more, not from the layout: a zeroed layout of small alignment is backed lazily.
    let size = bytes.checked_add(PAGE).ok_or(CUresult::OUT_OF_MEMORY)?;
    let layout = Layout::from_size_align(size, 16).map_err(|_| CUresult::OUT_OF_MEMORY)?;
    let block = Block::zeroed(layout).ok_or(CUresult::OUT_OF_MEMORY)?;
    let address = (block.start as usize).next_multiple_of(PAGE);
    ranges().insert(address, Range { bytes, block: Some(block) });
    // SAFETY: the bytes are freed in `release`, after they are unmapped and work on them is done.
    match unsafe { gpu().memory().map_host(address as *mut u8, bytes as u64) } {
        Ok(_) => {
            context.owned().insert(address as u64, origin);
            // The host may write it at any time without our seeing it.
            check::tell(|sanitizer| {
                sanitizer.host_allocated(address as u64, bytes as u64, Some(sanitizer::HOST_MEMORY))
            });
            Ok(address)
        }
        Err(_) => {
            give_back(address);
            Err(CUresult::OUT_OF_MEMORY)
        }
    }
}

fn give_back(address: usize) {
    if let Some(Range { block: Some(block), .. }) = ranges().remove(&address) {
        block.give_back();
    }
}

/// Gives an allocation back, of whatever origin. Work on it is done.
pub fn release(address: u64, origin: Origin) {
    // Only an address that is no allocation's could fail, and the owner's table had it.
    let _ = gpu().memory().free(address);
    if !matches!(origin, Origin::Device | Origin::Pool(_) | Origin::Graph) {
        check::tell(|sanitizer| sanitizer.host_freed(address));
        give_back(address as usize);
    }
}

pub fn cuMemAllocHost_v2(place: Out<*mut c_void>, bytes: usize) -> Answer {
    place.required()?;
    place.set(allocate(bytes, Origin::PinnedHost { flags: 0 })? as *mut c_void)
}

pub fn cuMemHostAlloc(place: Out<*mut c_void>, bytes: usize, flags: u32) -> Answer {
    const PORTABLE_MAPPED_COMBINED: u32 = 7;
    place.required()?;
    if flags & !PORTABLE_MAPPED_COMBINED != 0 {
        return Err(CUresult::INVALID_VALUE);
    }
    place.set(allocate(bytes, Origin::PinnedHost { flags })? as *mut c_void)
}

pub fn cuMemFreeHost(pointer: *mut c_void) -> Answer {
    current_if_any()?;
    let address = pointer as u64;
    match owner_of(address) {
        Some((owner, origin @ Origin::PinnedHost { .. })) => {
            owner.queue.drain()?;
            owner.owned().remove(&address);
            release(address, origin);
            Ok(())
        }
        _ => Err(CUresult::INVALID_VALUE),
    }
}

pub fn cuMemAllocManaged(place: Out<CUdeviceptr>, bytes: usize, flags: u32) -> Answer {
    const GLOBAL: u32 = 1;
    const HOST: u32 = 2;
    place.required()?;
    if !matches!(flags, GLOBAL | HOST) {
        return Err(CUresult::INVALID_VALUE);
    }
    place.set(allocate(bytes, Origin::Managed)? as u64)
}

pub fn cuMemHostRegister_v2(pointer: *mut c_void, bytes: usize, flags: u32) -> Answer {
    const KNOWN: u32 = 0xf;
    let context = current()?;
    if pointer.is_null() || bytes == 0 || flags & !KNOWN != 0 {
        return Err(CUresult::INVALID_VALUE);
    }
    let address = pointer as usize;
    let end = address.checked_add(bytes).ok_or(CUresult::INVALID_VALUE)?;
    {
        let mut ranges = ranges();
        if ranges.range(..end).next_back().is_some_and(|(&start, range)| start + range.bytes > address) {
            return Err(CUresult::HOST_MEMORY_ALREADY_REGISTERED);
        }
        ranges.insert(address, Range { bytes, block: None });
    }
    // SAFETY: the program keeps registered memory until it unregisters it, as the driver API asks.
    if unsafe { gpu().memory().map_host(pointer.cast(), bytes as u64) }.is_err() {
        ranges().remove(&address);
        return Err(CUresult::INVALID_VALUE);
    }
    context.owned().insert(address as u64, Origin::Registered);
    check::tell(|sanitizer| {
        sanitizer.host_allocated(address as u64, bytes as u64, Some(sanitizer::HOST_MEMORY))
    });
    Ok(())
}

pub fn cuMemHostUnregister(pointer: *mut c_void) -> Answer {
    current()?;
    let address = pointer as u64;
    match owner_of(address) {
        Some((owner, Origin::Registered)) => {
            owner.queue.drain()?;
            owner.owned().remove(&address);
            release(address, Origin::Registered);
            Ok(())
        }
        _ if pointer.is_null() => Err(CUresult::INVALID_VALUE),
        _ => Err(CUresult::HOST_MEMORY_NOT_REGISTERED),
    }
}

pub fn cuMemHostGetDevicePointer_v2(place: Out<CUdeviceptr>, pointer: *mut c_void, flags: u32) -> Answer {
    place.required()?;
    current()?;
    if flags != 0 || !is_pinned(pointer as usize, 1) {
        return Err(CUresult::INVALID_VALUE);
    }
    place.set(pointer as u64)
}

pub fn cuMemHostGetFlags(flags: Out<u32>, pointer: *mut c_void) -> Answer {
    const DEVICE_MAP: u32 = 2;
    flags.required()?;
    current()?;
    match owner_of(pointer as u64) {
        Some((_, Origin::PinnedHost { flags: given })) => flags.set(given | DEVICE_MAP),
        _ => Err(CUresult::INVALID_VALUE),
    }
}
