//! Host memory that kernels can reach: pinned, registered, managed. Its device address is its host address.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::abi::{Answer, CUresult};

const PAGE: usize = 4096;

/// Host ranges that the device can reach, by their first byte.
static RANGES: Mutex<BTreeMap<usize, Range>> = Mutex::new(BTreeMap::new());

struct Range {
    bytes: usize,
    /// What to give back to the allocator, unless the memory is the program's.
    _block: Option<Block>,
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
}

impl Drop for Block {
    fn drop(&mut self) {
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

// SAFETY: the pointer only travels to `drop`; allocations belong to no thread.
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

/// Page-aligned memory, zeroed.
pub fn allocate(bytes: usize) -> Answer<usize> {
    // Alignment comes from a page more, not from the layout: a zeroed layout of small alignment is backed lazily.
    let size = bytes.checked_add(PAGE).ok_or(CUresult::OUT_OF_MEMORY)?;
    let layout = Layout::from_size_align(size, 16).map_err(|_| CUresult::OUT_OF_MEMORY)?;
    let block = Block::zeroed(layout).ok_or(CUresult::OUT_OF_MEMORY)?;
    let address = (block.start as usize).next_multiple_of(PAGE);
    ranges().insert(address, Range { bytes, _block: Some(block) });
    Ok(address)
}

/// Notes memory of the program's own.
pub fn add(address: usize, bytes: usize) -> Answer {
    let end = address.checked_add(bytes).ok_or(CUresult::INVALID_VALUE)?;
    let mut ranges = ranges();
    if ranges.range(..end).next_back().is_some_and(|(&start, range)| start + range.bytes > address) {
        return Err(CUresult::HOST_MEMORY_ALREADY_REGISTERED);
    }
    ranges.insert(address, Range { bytes, _block: None });
    Ok(())
}

/// Gives memory back to whom it is from.
pub fn give_back(address: usize) {
    let range = ranges().remove(&address);
    drop(range);
}
