//! Reductions in one launch.
//!
//! A block of 512 threads walks over the elements in strides of the grid, four loads of 16 bytes a thread in flight, two of 16-bit
//! elements: with four blocks on a multiprocessor 128 or 64 KiB, where a copy needs 36. What it found goes to the block's place in a scratch buffer. The
//! last block to arrive, by a ticket, combines all of them in order: the result is the same each time on one chip.

use core::mem::size_of;
use core::sync::atomic::Ordering;

use cuda_std::atomic::mid::atomic_fetch_add_u32_device;
use cuda_std::thread;
use tile::{VECTOR_BYTES, Vector};

use super::block::reduce_block;
use super::operation::Operation;

/// Threads of a block.
pub const BLOCK: u32 = 512;
/// Warps of a block.
pub const WARPS: usize = BLOCK as usize / 32;
/// Blocks of a multiprocessor.
pub const BLOCKS_A_SM: u32 = 4;
/// Loads of a thread in flight, of up to four elements each.
const LOADS: usize = 4;

/// The signature of all reductions: the elements, room for a value a block, the ticket, and where the result goes.
pub type Signature<T, V> = fn(&'static [T], *mut V, *mut u32, *mut V);

/// Elements of a load.
pub const fn per_load<T>() -> usize {
    let size = size_of::<T>();
    if size > 0 && VECTOR_BYTES.is_multiple_of(size) { VECTOR_BYTES / size } else { 1 }
}

/// A thread's part of a reduction: what it found so far.
struct Walk<T, O: Operation<T>> {
    first: *const T,
    found: O::Value,
}

impl<T: Copy, O: Operation<T>> Walk<T, O> {
    /// # Safety
    /// The element exists.
    #[inline(always)]
    unsafe fn element(&mut self, index: usize) {
        // SAFETY: the caller's promise.
        let element = unsafe { *self.first.add(index) };
        self.found = O::combine(self.found, O::value(element, index as u64));
    }

    /// Takes `N` loads of elements in, `step` elements apart.
    ///
    /// # Safety
    /// They exist, and if a load is of several, the first lies at a multiple of 16 bytes.
    #[inline(always)]
    unsafe fn loads<const N: usize>(&mut self, index: usize, step: usize) {
        let per = per_load::<T>();
        // SAFETY: the caller's promise.
        unsafe {
            if per == 1 {
                for load in 0..N {
                    cuda_std::unroll!(full);
                    self.element(index + load * step);
                }
                return;
            }
            let mut loaded = [Vector::default(); N];
            for load in 0..N {
                cuda_std::unroll!(full);
                loaded[load] = Vector::load(self.first.add(index + load * step));
            }
            for load in 0..N {
                cuda_std::unroll!(full);
                for of_load in 0..per {
                    cuda_std::unroll!(full);
                    let element = (&raw const loaded[load]).cast::<T>().add(of_load).read();
                    let value = O::value(element, (index + load * step + of_load) as u64);
                    self.found = O::combine(self.found, value);
                }
            }
        }
    }
}

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
    let per = per_load::<T>();
    let head = if per == 1 {
        0
    } else {
        (from.as_ptr().addr().wrapping_neg() % VECTOR_BYTES / size_of::<T>()).min(from.len())
    };
    let loads = (from.len() - head) / per;
    let all = blocks * BLOCK as usize;
    let mut walk = Walk::<T, O> { first: from.as_ptr(), found: O::identity() };
    // SAFETY: all loads and elements are inside; a block has its own place among the parts, which are read by the block that has
    // drawn the last ticket, after a barrier that the thread with the ticket came to.
    unsafe {
        let mut load = block * BLOCK as usize + thread;
        // Half as many loads of twice as many elements: as much in flight as is worth the code.
        let at_once = if per > 4 { LOADS / 2 } else { LOADS };
        while load + (at_once - 1) * all < loads {
            if per > 4 {
                walk.loads::<{ LOADS / 2 }>(head + load * per, all * per);
            } else {
                walk.loads::<LOADS>(head + load * per, all * per);
            }
            load += at_once * all;
        }
        while load < loads {
            walk.loads::<1>(head + load * per, 0);
            load += all;
        }
        // Less than a load at each end.
        let (before, behind) = (thread < head, head + loads * per + thread);
        if block == 0 && before {
            walk.element(thread);
        }
        if block == blocks - 1 && behind < from.len() {
            walk.element(behind);
        }
        let of_block = reduce_block::<_, { BLOCK as usize }>(of_warps, walk.found, O::combine);
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
