//! Waiting for all blocks of a grid, where the launch is cooperative.

use core::sync::atomic::Ordering;
use cuda_std::atomic::mid::{atomic_fetch_add_u32_device, atomic_load_32_device};
use cuda_std::thread;

use crate::block::thread_in_block;

/// The bit that turns whenever all blocks have come.
const TURN: u32 = 1 << 31;

/// Waits until every thread of the grid is here; what any of them has written before, all see behind it.
///
/// One thread of each block counts its block in. The first block adds what is missing to turn the highest bit, so the counter
/// needs no reset, and serves the next wait.
///
/// ```
/// use cuda_std::prelude::*;
/// use tile::sync_grid;
///
/// /// Each element's right neighbour, in place: all read before any writes. Launched with `cooperative`, a thread an element.
/// #[kernel]
/// pub unsafe fn rotate(n: u32, x: *mut f32, counter: *mut u32) {
///     let i = thread::index_1d();
///     // SAFETY: x has n elements; between the reads and the writes the whole grid waits.
///     unsafe {
///         let next = if i < n { *x.add(((i + 1) % n) as usize) } else { 0.0 };
///         sync_grid(counter);
///         if i < n {
///             *x.add(i as usize) = next;
///         }
///     }
/// }
/// ```
/// The host launches it with `Extended { cooperative: true, ..Extended::default() }` (`Kernel::launch_extended`), and refuses more
/// blocks than the device holds at a time.
///
/// # Safety
/// The launch is cooperative: its blocks run at the same time. Every thread of the grid calls this, as often as the others.
/// `counter` is global memory that was zero before the first call, and that nothing else touches.
#[inline(always)]
pub unsafe fn sync_grid(counter: *mut u32) {
    thread::sync_threads();
    if thread_in_block() == 0 {
        let blocks = thread::grid_dim_x() * thread::grid_dim_y() * thread::grid_dim_z();
        let is_first = thread::block_idx_x() | thread::block_idx_y() | thread::block_idx_z() == 0;
        let own = if is_first { TURN - (blocks - 1) } else { 1 };
        // SAFETY: the caller's promise. The addition releases what this block has written, which the barrier above orders
        // before it, and each load acquires what others have.
        unsafe {
            let before = atomic_fetch_add_u32_device(counter, Ordering::AcqRel, own);
            while (before ^ atomic_load_32_device(counter, Ordering::Acquire)) & TURN == 0 {}
        }
    }
    thread::sync_threads();
}
