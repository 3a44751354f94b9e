//! Reductions in one launch.
//!
//! Blocks of 512 threads [walk](super::walk) over the elements: with four on a multiprocessor, 128 KiB are in flight, 64 of 16-bit elements,
//! where a copy needs 36. What a block found goes to the block's place in a scratch buffer. The
//! last block to arrive, by a ticket, combines all of them in order: the result is the same each time on one chip.

use core::sync::atomic::Ordering;

use cuda_std::atomic::mid::atomic_fetch_add_u32_device;
use cuda_std::thread;

use super::block::reduce_block;
use super::operation::Operation;
use super::walk::walk;

/// Threads of a block.
pub const BLOCK: u32 = 512;
/// Warps of a block.
pub const WARPS: usize = BLOCK as usize / 32;
/// Blocks of a multiprocessor.
pub const BLOCKS_A_SM: u32 = 4;
/// The signature of all reductions: the elements, room for a value a block, the ticket, and where the result goes.
pub type Signature<T, V> = fn(&'static [T], *mut V, *mut u32, *mut V);

/// The body of a kernel made by [`reduction!`](crate::reduction).
///
/// # Safety
/// As the kernel's; `of_warps` is shared memory for [`WARPS`] values, `is_last` for a word.
#[inline(always)]
pub unsafe fn reduce<T: Copy, O: Operation<T>>(
    from: &[T],
    parts: *mut O::Value,
    ticket: *mut u32,
    to: *mut O::Value,
    of_warps: *mut O::Value,
    is_last: *mut u32,
) {
    let (thread, block, blocks) =
        (thread::thread_idx_x() as usize, thread::block_idx_x() as usize, thread::grid_dim_x() as usize);
    let mut found = O::identity();
    walk::<T, { BLOCK as usize }>(from, |element, index| found = O::combine(found, O::value(element, index)));
    // SAFETY: a block has its own place among the parts, which are read by the block that has drawn the last ticket, after a barrier
    // that the thread with the ticket came to.
    unsafe {
        let of_block = reduce_block::<_, { BLOCK as usize }>(of_warps, found, O::combine);
        if thread == 0 {
            *parts.add(block) = of_block;
            *is_last =
                u32::from(atomic_fetch_add_u32_device(ticket, Ordering::AcqRel, 1) == blocks as u32 - 1);
        }
        thread::sync_threads();
        if *is_last == 0 {
            return;
        }
        let mut found = O::identity();
        let mut part = thread;
        while part < blocks {
            found = O::combine(found, *parts.add(part));
            part += BLOCK as usize;
        }
        let all = reduce_block::<_, { BLOCK as usize }>(of_warps, found, O::combine);
        if thread == 0 {
            *to = all;
            *ticket = 0;
        }
    }
}

/// Kernels that reduce elements of a type by an operation, in the crate that calls this.
///
/// ```
/// use cuda_std::prelude::*;
/// use kernels_gpu::primitives::operation::Operation;
///
/// /// The product of all numbers modulo 65,521.
/// pub struct Product;
///
/// impl Operation<u32> for Product {
///     type Value = u32;
///     fn identity() -> u32 {
///         1
///     }
///     fn value(element: u32, _: u64) -> u32 {
///         element % 65_521
///     }
///     fn combine(first: u32, second: u32) -> u32 {
///         (u64::from(first) * u64::from(second) % 65_521) as u32
///     }
/// }
///
/// kernels_gpu::reduction! {
///     /// The product of all numbers modulo 65,521.
///     product: u32 as u32, by Product;
/// }
/// ```
#[macro_export]
macro_rules! reduction {
    ($($(#[$doc:meta])* $name:ident: $element:ty as $value:ty, by $operation:ty;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// `parts` has room for a value of each block, and `to` for one; the ticket is 0, and is left so.
        #[kernel]
        #[block_dim(512)]
        pub unsafe fn $name(from: &[$element], parts: *mut $value, ticket: *mut u32, to: *mut $value) {
            use $crate::primitives::reduce;
            let of_warps = cuda_std::shared_array![$value; 16];
            let is_last = cuda_std::shared_array![u32; 1];
            // SAFETY: as the contract says.
            unsafe { reduce::reduce::<$element, $operation>(from, parts, ticket, to, of_warps, is_last) }
        }
    )*};
}
