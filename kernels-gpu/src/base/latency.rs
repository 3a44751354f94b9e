//! How long one access takes when the next cannot start before it, and how many warps hide that.

use cuda_std::prelude::*;
use cuda_std::{misc, shared_array};

listed! { chase_global chase_shared copy_by_few }

/// Elements of the chain in shared memory.
pub const SHARED_LEN: usize = 1024;

/// Follows `next` for `steps` steps: each address is the content of the one before. The size of the chain decides
/// which cache answers.
///
/// # Safety
/// One thread; `next` holds indices of itself; `end` and `cycles` hold one element.
#[kernel]
pub unsafe fn chase_global(steps: u32, next: *const u32, end: *mut u32, cycles: *mut u64) {
    // SAFETY: as the contract says. A slice would be read through `ld.global.nc`; a volatile read would pass by the L1. What
    // keeps the loop between the two readings of the clock is that its end depends on every step.
    unsafe {
        let mut at = 0;
        let start = misc::clock();
        for _ in 0..steps {
            at = *next.add(at as usize);
        }
        let finish = misc::clock();
        *end = at;
        *cycles = finish - start;
    }
}

/// The same through shared memory.
///
/// # Safety
/// One thread; `next` holds [`SHARED_LEN`] indices of itself; `end` and `cycles` hold one element.
#[kernel]
pub unsafe fn chase_shared(steps: u32, next: &[u32], end: *mut u32, cycles: *mut u64) {
    let chain = shared_array![u32; SHARED_LEN];
    // SAFETY: as the contract says; one thread writes and reads the chain.
    unsafe {
        for i in 0..SHARED_LEN {
            *chain.add(i) = *next.get_unchecked(i);
        }
        let mut at = 0;
        let start = misc::clock();
        for _ in 0..steps {
            at = chain.add(at as usize).read_volatile();
        }
        let finish = misc::clock();
        *end = at;
        *cycles = finish - start;
    }
}

/// A copy by a grid of any size: each thread takes every (grid size)th element, one access in flight at a time.
///
/// # Safety
/// `to` holds as many elements as `from`.
#[kernel]
pub unsafe fn copy_by_few(from: &[f32], to: *mut f32) {
    let step = (thread::grid_dim_x() * thread::block_dim_x()) as usize;
    let mut i = thread::index_1d() as usize;
    while i < from.len() {
        // SAFETY: i < from.len().
        unsafe { to.add(i).write_volatile(*from.get_unchecked(i)) };
        i += step;
    }
}
