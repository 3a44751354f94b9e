//! What all threads of a block do together, whatever the block's shape.

use cuda_std::thread;

/// This thread's number in its block: x first, then y, then z, as warps are cut.
#[inline(always)]
pub fn thread_in_block() -> usize {
    let (width, height) = (thread::block_dim_x(), thread::block_dim_y());
    let (x, y, z) = (thread::thread_idx_x(), thread::thread_idx_y(), thread::thread_idx_z());
    (x + width * (y + height * z)) as usize
}

/// How many threads the block has.
#[inline(always)]
pub fn threads_of_block() -> usize {
    (thread::block_dim_x() * thread::block_dim_y() * thread::block_dim_z()) as usize
}

/// Makes one value of the values of all threads: `combine` is an addition, a maximum, or another operation that may be
/// done in any order. Every thread gets the result, and `scratch` may be used again at once.
///
/// A tree in shared memory: neighbouring threads combine neighbouring elements, so no two lanes of a warp meet in a bank.
///
/// # Safety
/// Every thread of the block calls this. `scratch` is shared memory for one element of each thread, used by nothing else.
#[inline(always)]
pub unsafe fn reduce<T: Copy>(scratch: *mut T, value: T, combine: impl Fn(T, T) -> T) -> T {
    let (thread, threads) = (thread_in_block(), threads_of_block());
    // SAFETY: every index is below the number of threads; in a turn each element is touched by one thread, and a barrier
    // parts the turns.
    unsafe {
        *scratch.add(thread) = value;
        thread::sync_threads();
        let mut left = threads;
        while left > 1 {
            let half = left.div_ceil(2);
            if thread + half < left {
                *scratch.add(thread) = combine(*scratch.add(thread), *scratch.add(thread + half));
            }
            thread::sync_threads();
            left = half;
        }
        let all = *scratch;
        thread::sync_threads(); // nobody writes the next value before all have read this one
        all
    }
}
