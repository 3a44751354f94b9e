//! Scans by sums and extremes.

use cuda_std::prelude::*;
use cuda_std::shared_array;

use crate::primitives::operation::{Max, Min, Operation, Sum};
use crate::primitives::scan::{BLOCK, scan as body};

/// The value of all elements up to each, or before it: one launch, whatever their number.
///
/// 40 registers let three blocks run on a multiprocessor: on an H100 2^28 elements of 4 bytes take 0.92 of the time of two.
///
/// # Safety
/// `to` has room for a value of each element, and `words` are a look-back's, with a state for each 4 bytes of a value of each block of the grid.
#[kernel(T = [u32, i32, u64, i64, f32, f64], O = [Sum, Min, Max])]
#[block_dim(512)]
#[launch_bounds(max_registers = if size_of::<T>() > 4 { 64 } else { 40 })]
pub unsafe fn scan<T: Copy, O: Operation<T>>(
    from: &[T],
    to: *mut <O as Operation<T>>::Value,
    is_exclusive: u32,
    words: *mut u64,
) {
    const WARPS: usize = BLOCK as usize / 32;
    let shared = shared_array![u64; 16];
    let drawn = shared_array![u64; 1];
    const { assert!(size_of::<O::Value>() <= 8 && WARPS == 16, "a word of shared memory a warp") };
    // SAFETY: as the contract says.
    unsafe {
        body::<T, O, { BLOCK as usize }>(from, to, is_exclusive, words, shared.cast(), drawn);
    }
}

/// The list of instances.
macro_rules! described {
    ($($operation:ident)*) => {
        #[cfg(feature = "host")]
        pub const KERNELS: &[cuda_std::Description] = &[$(
            cuda_std::Description::of::<scan<u32, $operation>>(),
            cuda_std::Description::of::<scan<i32, $operation>>(),
            cuda_std::Description::of::<scan<u64, $operation>>(),
            cuda_std::Description::of::<scan<i64, $operation>>(),
            cuda_std::Description::of::<scan<f32, $operation>>(),
            cuda_std::Description::of::<scan<f64, $operation>>(),
        )*];
    };
}
described!(Sum Min Max);
