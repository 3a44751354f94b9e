//! Host memory behind an allocation: zeroed, and taken from the machine only when it is touched.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

/// The smallest page size in use. Allocations at least this large get a mapping of their own, for which the system
/// provides only the pages that are touched; the allocator would write zeros to memory it reuses.
const PAGE: usize = 4096;
/// The minimum alignment of any backing.
const LINE: usize = 64;

/// An owned range of zeroed bytes.
#[derive(Debug)]
pub(super) struct Backing {
    bytes: NonNull<u8>,
    source: Source,
}

/// How the bytes are returned.
#[derive(Debug)]
enum Source {
    #[cfg(unix)]
    System {
        size: usize,
    },
    Allocator {
        start: NonNull<u8>,
        layout: Layout,
    },
}

// SAFETY: it owns its bytes and gives out only their address.
unsafe impl Send for Backing {}
// SAFETY: as above.
unsafe impl Sync for Backing {}

impl Backing {
    /// `size` bytes, aligned to 64; `None` if the system refuses.
    pub fn zeroed(size: usize) -> Option<Self> {
        #[cfg(unix)]
        if size >= PAGE
            && let Some(mapped) = Self::mapped(size)
        {
            return Some(mapped);
        }
        Self::allocated(size, LINE)
    }

    /// The same, aligned to pages.
    pub fn pages(size: usize) -> Option<Self> {
        #[cfg(unix)]
        if let Some(mapped) = Self::mapped(size) {
            return Some(mapped);
        }
        Self::allocated(size, PAGE)
    }

    #[cfg(unix)]
    fn mapped(size: usize) -> Option<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // Untouched pages take no memory: a model of a GPU with 141 GB runs on a laptop.
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new anonymous mapping touches nothing that exists.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), size, protection, flags, -1, 0) };
        if at == libc::MAP_FAILED {
            return None;
        }
        Some(Backing { bytes: NonNull::new(at.cast())?, source: Source::System { size } })
    }

    fn allocated(size: usize, align: usize) -> Option<Self> {
        // In whole words, since an atomic operation on the last byte reads and writes the word around it. The alignment
        // comes from extra room, not from the layout: for a large alignment the allocator would write the zeros itself.
        let room = size.max(1).checked_next_multiple_of(4)?.checked_add(align)?;
        let layout = Layout::from_size_align(room, 4).ok()?;
        // SAFETY: the layout is not of size 0.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        // SAFETY: less than `align` bytes further, for which there is room beyond `size`.
        let bytes = unsafe { start.add(start.as_ptr().align_offset(align)) };
        Some(Backing { bytes, source: Source::Allocator { start, layout } })
    }

    /// Tells whether its pages hold nothing else.
    pub fn has_own_pages(&self) -> bool {
        !matches!(self.source, Source::Allocator { .. })
    }

    /// The first byte.
    pub fn bytes(&self) -> NonNull<u8> {
        self.bytes
    }
}

impl Drop for Backing {
    fn drop(&mut self) {
        match self.source {
            #[cfg(unix)]
            Source::System { size } => {
                // SAFETY: `mapped` made this mapping with this size, and nothing else unmaps it.
                unsafe { libc::munmap(self.bytes.as_ptr().cast(), size) };
            }
            // SAFETY: made by `alloc_zeroed` with this layout.
            Source::Allocator { start, layout } => unsafe { dealloc(start.as_ptr(), layout) },
        }
    }
}
