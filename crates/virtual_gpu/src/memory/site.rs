//! Inline caches of allocations: the bounds that an access tests before it looks its address up.

/// The allocation that an access found the last time. All zeros is none.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Site {
    /// Its first device address.
    pub start: u64,
    /// Bytes that may be read.
    pub readable: u64,
    /// Bytes that may be written: all or none.
    pub writable: u64,
    /// Its first byte on the host.
    pub host: *mut u8,
}

impl Site {
    /// No allocation.
    pub const NONE: Site = Site { start: 0, readable: 0, writable: 0, host: std::ptr::null_mut() };
}
