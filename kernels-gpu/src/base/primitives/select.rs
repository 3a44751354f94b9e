//! Selections by flags, and the first of equal elements.

use cuda_std::prelude::*;
use cuda_std::shared_array;

use crate::primitives::select::{BLOCK, Destination, First, Flagged, STAGED, select};

/// The elements whose flags are not 0, and if `others` is not null, the others.
///
/// # Safety
/// There is a flag for each element, room for each chosen one, for each other one if `others` is not null, and for the count; `words` are
/// a look-back's for each block of the grid.
#[kernel(T = [u32, i32, u64, i64, f32, f64])]
#[block_dim(256)]
#[launch_bounds(max_registers = 48)]
pub unsafe fn select_flagged<T: Copy>(
    from: &[T],
    flags: *const u8,
    chosen: *mut T,
    others: *mut T,
    count: *mut u64,
    words: *mut u64,
) {
    let staged = shared_array![u64; STAGED];
    let shared = shared_array![u64; 11];
    let to = Destination { chosen, others, count };
    // SAFETY: as the contract says.
    unsafe {
        select::<T, { BLOCK as usize }>(from, Flagged(flags), to, words, staged.cast(), shared);
    }
}

/// The first of equal elements that follow each other.
///
/// # Safety
/// As of [`fn@select_flagged`].
#[kernel(T = [u32, i32, u64, i64, f32, f64])]
#[block_dim(256)]
#[launch_bounds(max_registers = 48)]
pub unsafe fn select_first<T: Copy + PartialEq>(
    from: &[T],
    chosen: *mut T,
    count: *mut u64,
    words: *mut u64,
) {
    let staged = shared_array![u64; STAGED];
    let shared = shared_array![u64; 11];
    let to = Destination { chosen, others: core::ptr::null_mut(), count };
    // SAFETY: as the contract says.
    unsafe {
        let first = First(from.as_ptr());
        select::<T, { BLOCK as usize }>(from, first, to, words, staged.cast(), shared);
    }
}

/// The list of instances.
macro_rules! described {
    ($($element:ident)*) => {
        #[cfg(feature = "host")]
        pub const KERNELS: &[cuda_std::Description] = &[$(
            cuda_std::Description::of::<select_flagged<$element>>(),
            cuda_std::Description::of::<select_first<$element>>(),
        )*];
    };
}
described!(u32 i32 u64 i64 f32 f64);
