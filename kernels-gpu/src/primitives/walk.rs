//! A walk of the grid over all elements: strides of the grid, four loads of 16 bytes a thread in flight, two of 16-bit elements or bytes.

use core::mem::size_of;

use cuda_std::thread;
use tile::{VECTOR_BYTES, Vector};

/// Loads of a thread in flight, of up to four elements each.
const LOADS: usize = 4;

/// Elements of a load.
pub const fn per_load<T>() -> usize {
    let size = size_of::<T>();
    if size > 0 && VECTOR_BYTES.is_multiple_of(size) { VECTOR_BYTES / size } else { 1 }
}

/// Takes `N` loads of elements, `step` elements apart.
///
/// # Safety
/// They exist, and if a load is of several, the first lies at a multiple of 16 bytes.
#[inline(always)]
unsafe fn loads<T: Copy, const N: usize>(
    first: *const T,
    index: usize,
    step: usize,
    each: &mut impl FnMut(T, u64),
) {
    let per = per_load::<T>();
    // SAFETY: the caller's promise.
    unsafe {
        if per == 1 {
            for load in 0..N {
                cuda_std::unroll!(full);
                let index = index + load * step;
                each(*first.add(index), index as u64);
            }
            return;
        }
        let mut loaded = [Vector::default(); N];
        for load in 0..N {
            cuda_std::unroll!(full);
            loaded[load] = Vector::load(first.add(index + load * step));
        }
        for load in 0..N {
            cuda_std::unroll!(full);
            for of_load in 0..per {
                cuda_std::unroll!(full);
                let element = (&raw const loaded[load]).cast::<T>().add(of_load).read();
                each(element, (index + load * step + of_load) as u64);
            }
        }
    }
}

/// Gives each element to one thread of the grid, whose blocks are lines of `THREADS` threads, with its index.
#[inline(always)]
pub fn walk<T: Copy, const THREADS: usize>(from: &[T], mut each: impl FnMut(T, u64)) {
    let (thread, block, blocks) =
        (thread::thread_idx_x() as usize, thread::block_idx_x() as usize, thread::grid_dim_x() as usize);
    let per = per_load::<T>();
    let head = if per == 1 {
        0
    } else {
        (from.as_ptr().addr().wrapping_neg() % VECTOR_BYTES / size_of::<T>()).min(from.len())
    };
    let (first, of_walk, all) = (from.as_ptr(), (from.len() - head) / per, blocks * THREADS);
    // SAFETY: all loads and elements are inside, and loads begin behind the head.
    unsafe {
        let mut load = block * THREADS + thread;
        // Half as many loads of twice as many elements: as much in flight as is worth the code.
        let at_once = if per > 4 { LOADS / 2 } else { LOADS };
        while load + (at_once - 1) * all < of_walk {
            if per > 4 {
                loads::<T, { LOADS / 2 }>(first, head + load * per, all * per, &mut each);
            } else {
                loads::<T, LOADS>(first, head + load * per, all * per, &mut each);
            }
            load += at_once * all;
        }
        while load < of_walk {
            loads::<T, 1>(first, head + load * per, 0, &mut each);
            load += all;
        }
        // Less than a load at each end.
        let behind = head + of_walk * per + thread;
        if block == 0 && thread < head {
            each(*first.add(thread), thread as u64);
        }
        if block == blocks - 1 && behind < from.len() {
            each(*first.add(behind), behind as u64);
        }
    }
}
