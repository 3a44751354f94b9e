//! Host memory behind an allocation: zeroed, and taken from the machine only as it is touched.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

/// From this size on memory is asked of the system with the promise that most of it stays untouched: a model of a GPU
/// with 141 GB runs on a laptop.
const RESERVE_FROM: usize = 1 << 24;

/// An owned range of zeroed bytes, aligned to 64.
#[derive(Debug)]
pub(super) struct Backing {
    bytes: NonNull<u8>,
    size: usize,
    mapped: bool,
}

// SAFETY: it owns its bytes and gives out nothing but their address.
unsafe impl Send for Backing {}
// SAFETY: as above.
unsafe impl Sync for Backing {}

impl Backing {
    /// `size` bytes, more than none; `None` if the system refuses.
    pub fn zeroed(size: usize) -> Option<Self> {
        if size >= RESERVE_FROM
            && let Some(bytes) = map(size)
        {
            return Some(Backing { bytes, size, mapped: true });
        }
        let layout = layout(size)?;
        debug_assert!(size > 0);
        // SAFETY: the layout is not of size 0: `Memory::alloc_kind` refuses that.
        let bytes = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        Some(Backing { bytes, size, mapped: false })
    }

    /// The first byte.
    pub fn bytes(&self) -> NonNull<u8> {
        self.bytes
    }
}

/// In whole words, since an atomic operation on the last byte reads and writes the word around it.
fn layout(size: usize) -> Option<Layout> {
    Layout::from_size_align(size.checked_next_multiple_of(4)?, 64).ok()
}

#[cfg(unix)]
fn map(size: usize) -> Option<NonNull<u8>> {
    let (protection, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
    // SAFETY: a new anonymous mapping touches nothing that exists.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), size, protection, flags, -1, 0) };
    if at == libc::MAP_FAILED { None } else { NonNull::new(at.cast()) }
}

#[cfg(not(unix))]
fn map(_size: usize) -> Option<NonNull<u8>> {
    None
}

impl Drop for Backing {
    fn drop(&mut self) {
        #[cfg(unix)]
        if self.mapped {
            // SAFETY: `map` made this mapping with this size, and nothing else unmaps it.
            unsafe { libc::munmap(self.bytes.as_ptr().cast(), self.size) };
            return;
        }
        if let Some(layout) = layout(self.size) {
            // SAFETY: made by `alloc_zeroed` with this layout.
            unsafe { dealloc(self.bytes.as_ptr(), layout) }
        }
    }
}
