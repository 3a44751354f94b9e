//! Where the state spaces are in the generic address space.
//!
//! Global memory and constants are at their own addresses, constants in a range of their own. Shared, local and
//! parameter memory have a window each, so a generic address tells its space. An offset of 0 in a space is a valid
//! address of that space; generic address 0 is null.

/// Constants: from here to the first window.
pub const CONSTANTS: u64 = 0xE000_0000_0000;
/// First address that belongs to a window.
pub const FIRST: u64 = 0xF000_0000_0000;
/// Shared memory: the low 24 bits are the offset, the next 8 the block of the cluster (0: its own; r + 1: rank r).
pub const SHARED: u64 = 0xF000_0000_0000;
/// A thread's own stack.
pub const LOCAL: u64 = 0xF100_0000_0000;
/// The kernel's parameters.
pub const PARAM: u64 = 0xF200_0000_0000;
/// Code: the address that `mov` yields for a function.
pub const CODE: u64 = 0xF300_0000_0000;
/// Bytes per window.
pub const SIZE: u64 = 1 << 32;

/// How many bits of a shared address are the offset in one block's memory.
pub const SHARED_OFFSET_BITS: u32 = 24;

/// Whether `address` lies in the window that starts at `base`.
#[inline]
pub const fn holds(base: u64, address: u64) -> bool {
    address.wrapping_sub(base) < SIZE
}
