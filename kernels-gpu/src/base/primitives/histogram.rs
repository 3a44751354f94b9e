//! Histograms.

use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::shared_array;

use crate::primitives::histogram::{Binned, Counts, histogram as body};

/// How many elements lie in each of the bins of one width between two bounds.
///
/// # Safety
/// The scale is the bounds' and the bins', the copies are theirs, and a block has a word of shared memory for each. `of_device`, all 0, and
/// `to` have room for all bins; the ticket is 0. Both are left so.
#[kernel(T = [u8, u32, i32, u64, i64, f32, f64])]
#[block_dim(512)]
#[launch_bounds(max_registers = if size_of::<T>() > 4 { 64 } else { 40 })]
pub unsafe fn histogram<T: Binned>(
    from: &[T],
    lower: <T as Binned>::Bound,
    upper: <T as Binned>::Bound,
    whole: u64,
    fraction: u64,
    bins: u32,
    copies: u32,
    of_device: *mut u64,
    ticket: *mut u32,
    to: *mut u64,
) {
    let is_last = shared_array![u32; 1];
    let counts = Counts { bins, copies, of_device, ticket, to };
    // SAFETY: as the contract says.
    unsafe {
        body(from, (lower, upper), [whole, fraction], counts, dynamic_shared_mem(), is_last);
    }
}

/// The list of instances.
#[cfg(feature = "host")]
pub const KERNELS: &[cuda_std::Description] = &[
    cuda_std::Description::of::<histogram<u8>>(),
    cuda_std::Description::of::<histogram<u32>>(),
    cuda_std::Description::of::<histogram<i32>>(),
    cuda_std::Description::of::<histogram<u64>>(),
    cuda_std::Description::of::<histogram<i64>>(),
    cuda_std::Description::of::<histogram<f32>>(),
    cuda_std::Description::of::<histogram<f64>>(),
];
