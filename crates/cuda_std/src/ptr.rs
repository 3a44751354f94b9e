//! Address spaces behind generic pointers.
//!
//! A Rust pointer on the device is *generic*: global, shared, constant and local memory each have their own window in
//! one address range. Inline PTX that names a space (`ld.shared`) takes the address within that window.

use crate::ptx;

/// A space of GPU memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddressSpace {
    /// Device memory, accessible to every thread of the grid and to the host.
    Global,
    /// On-chip memory of one block.
    Shared,
    /// Memory that the whole device reads through a cache of its own and only the host writes.
    Constant,
    /// Memory of one thread.
    Local,
}

macro_rules! is_space {
    ($space:literal, $ptr:ident) => {{
        let inside: u32;
        // SAFETY: the caller's promise is the instruction's own.
        unsafe { ptx!(
            "{{",
            ".reg .pred inside;",
            concat!("isspacep.", $space, " inside, {ptr};"),
            "selp.u32 {inside}, 1, 0, inside;",
            "}}",
            inside = out(u32) inside, ptr = in(ptr) $ptr; options(pure, nomem)) };
        inside != 0
    }};
}

/// Whether the generic pointer `ptr` points into `address_space`.
///
/// # Safety
///
/// `ptr` must be valid for a `T`.
#[inline(always)]
pub unsafe fn is_in_address_space<T>(ptr: *const T, address_space: AddressSpace) -> bool {
    match address_space {
        AddressSpace::Global => is_space!("global", ptr),
        AddressSpace::Shared => is_space!("shared", ptr),
        AddressSpace::Constant => is_space!("const", ptr),
        AddressSpace::Local => is_space!("local", ptr),
    }
}

macro_rules! cvta {
    ($direction:literal, $ptr:ident) => {{
        let converted: *const T;
        // SAFETY: the caller's promise is the instruction's own.
        unsafe { ptx!(concat!("cvta.", $direction, ".u64 {converted}, {ptr};"),
            converted = out(ptr) converted, ptr = in(ptr) $ptr; options(pure, nomem)) };
        converted
    }};
}

/// The address within `address_space` of the generic pointer `ptr`, for inline PTX.
///
/// # Safety
///
/// `ptr` must be valid for a `T` and point into `address_space`. The result must not be dereferenced by Rust code.
#[inline(always)]
pub unsafe fn convert_generic_to_specific_address_space<T>(
    ptr: *const T,
    address_space: AddressSpace,
) -> *const T {
    match address_space {
        AddressSpace::Global => cvta!("to.global", ptr),
        AddressSpace::Shared => cvta!("to.shared", ptr),
        AddressSpace::Constant => cvta!("to.const", ptr),
        AddressSpace::Local => cvta!("to.local", ptr),
    }
}

/// The generic pointer to an address within `address_space`.
///
/// # Safety
///
/// `ptr` must be the address of a valid `T` within `address_space`.
#[inline(always)]
pub unsafe fn convert_specific_address_space_to_generic<T>(
    ptr: *const T,
    address_space: AddressSpace,
) -> *const T {
    match address_space {
        AddressSpace::Global => cvta!("global", ptr),
        AddressSpace::Shared => cvta!("shared", ptr),
        AddressSpace::Constant => cvta!("const", ptr),
        AddressSpace::Local => cvta!("local", ptr),
    }
}
