//! Kernels in raw pointers that do what their twins without `unsafe` do, as a CUDA programmer writes them: for the table of
//! costs. A launch promises what its twin's launch tests.

use core::sync::atomic::Ordering::Relaxed;

use cuda_std::prelude::*;
use cuda_std::{GpuFloat, atomic, shared_array, warp};

use crate::generic::{Add, Larger, Operation};

/// This thread's number, its lane and its warp; and the block's number and how many blocks there are.
#[inline(always)]
fn place() -> (usize, usize, usize) {
    (thread::thread_idx_x() as usize, thread::block_idx_x() as usize, thread::grid_dim_x() as usize)
}

/// The sum of the block's 8 warps, or another value of all threads' values.
///
/// # Safety
/// All 256 threads come by; no thread reads `scratch`, which has 8 elements.
#[inline(always)]
unsafe fn of_block(
    scratch: *mut f32,
    mut value: f32,
    combine: impl Fn(f32, f32) -> f32,
    warps: usize,
) -> f32 {
    let thread = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise.
    unsafe {
        for bit in 0..5 {
            value = combine(value, warp::warp_shuffle_xor(u32::MAX, value, 16 >> bit, 32).0);
        }
        if thread.is_multiple_of(32) {
            *scratch.add(thread / 32) = value;
        }
        thread::sync_threads();
        let mut all = *scratch;
        for warp in 1..warps {
            all = combine(all, *scratch.add(warp));
        }
        all
    }
}

/// One sum a block, in strides of the grid.
///
/// # Safety
/// `sums` has room for an element for each block.
#[kernel]
#[block_dim(256)]
pub unsafe fn raw_sums(x: &[f32], sums: *mut f32) {
    let scratch = shared_array![f32; 8];
    let (thread, block, blocks) = place();
    let (mut sum, mut i) = (0.0, 256 * block + thread);
    while i < x.len() {
        sum += x[i];
        i += 256 * blocks;
    }
    // SAFETY: the whole block comes by.
    unsafe {
        let sum = of_block(scratch, sum, |a, b| a + b, 8);
        if thread == 0 {
            *sums.add(block) = sum;
        }
    }
}

/// Inclusive and exclusive sums of each part of 256, and the totals of the parts.
///
/// # Safety
/// `inclusive` and `exclusive` have room for as many elements as `x`, and `totals` for one of each block.
#[kernel]
#[block_dim(256)]
pub unsafe fn raw_scan_parts(x: &[u32], inclusive: *mut u32, exclusive: *mut u32, totals: *mut u32) {
    let scratch = shared_array![u32; 8];
    let (thread, block, _) = place();
    let (lane, warp, i) = (thread % 32, thread / 32, 256 * block + thread);
    let mut sum = if i < x.len() { x[i] } else { 0 };
    // SAFETY: the whole block comes by, and a barrier parts the stores to the scratch memory from the loads.
    unsafe {
        for bit in 0..5 {
            let (before, _) = warp::warp_shuffle_up(u32::MAX, sum, 1 << bit, 32);
            if lane >= 1 << bit {
                sum += before;
            }
        }
        let (before, _) = warp::warp_shuffle_up(u32::MAX, sum, 1, 32);
        let before = if lane == 0 { 0 } else { before };
        if lane == 31 {
            *scratch.add(warp) = sum;
        }
        thread::sync_threads();
        let (mut earlier, mut total) = (0, 0);
        for w in 0..8 {
            if w == warp {
                earlier = total;
            }
            total += *scratch.add(w);
        }
        if i < x.len() {
            *inclusive.add(i) = earlier + sum;
            *exclusive.add(i) = earlier + before;
        }
        if thread == 0 {
            *totals.add(block) = total;
        }
    }
}

/// Each block counts bytes in shared memory, and adds its counts to global memory once.
///
/// # Safety
/// `counts` has 256 elements.
#[kernel]
#[block_dim(256)]
pub unsafe fn raw_histogram_shared(bytes: &[u8], counts: *mut u32) {
    let own = shared_array![u32; 256];
    let (thread, block, blocks) = place();
    // SAFETY: a byte is below 256; barriers part the first stores, the additions and the last loads.
    unsafe {
        *own.add(thread) = 0;
        thread::sync_threads();
        let mut i = 256 * block + thread;
        while i < bytes.len() {
            atomic::mid::atomic_fetch_add_u32_block(own.add(bytes[i] as usize), Relaxed, 1);
            i += 256 * blocks;
        }
        thread::sync_threads();
        atomic::mid::atomic_fetch_add_u32_device(counts.add(thread), Relaxed, *own.add(thread));
    }
}

/// exp(x) / Σ exp(x) in each row, the row's maximum taken off first.
///
/// # Safety
/// `x` and `y` hold rows × cols elements, and there is a block for each row.
#[kernel]
#[block_dim(128)]
pub unsafe fn raw_softmax(x: *const f32, cols: u32, y: *mut f32) {
    let scratch = shared_array![f32; 4];
    let (thread, row, _) = place();
    let cols = cols as usize;
    // SAFETY: the row is inside, and a barrier parts the two uses of the scratch memory.
    unsafe {
        let (x, y) = (x.add(row * cols), y.add(row * cols));
        let (mut most, mut col) = (f32::NEG_INFINITY, thread);
        while col < cols {
            most = most.max(*x.add(col));
            col += 128;
        }
        let most = of_block(scratch, most, f32::max, 4);
        let (mut sum, mut col) = (0.0, thread);
        while col < cols {
            sum += GpuFloat::exp(*x.add(col) - most);
            col += 128;
        }
        thread::sync_threads();
        let sum = of_block(scratch, sum, |a, b| a + b, 4);
        let mut col = thread;
        while col < cols {
            *y.add(col) = GpuFloat::exp(*x.add(col) - most) / sum;
            col += 128;
        }
    }
}

/// Sorts each part of 512 keys by a bitonic network.
///
/// # Safety
/// `sorted` has room for as many keys as there are.
#[kernel]
#[block_dim(256)]
pub unsafe fn raw_sort_parts(keys: &[u32], sorted: *mut u32) {
    let tile = shared_array![u32; 512];
    let (thread, block, _) = place();
    let first = 512 * block;
    // SAFETY: of each pair one thread is the owner, and barriers part the steps.
    unsafe {
        for i in [thread, thread + 256] {
            *tile.add(i) = if first + i < keys.len() { keys[first + i] } else { u32::MAX };
        }
        for stage in 1..10 {
            for step in (0..stage).rev() {
                let distance = 1 << step;
                thread::sync_threads();
                let low = (thread / distance) * distance + thread;
                let (a, b) = (*tile.add(low), *tile.add(low + distance));
                let ascending = (low >> stage) % 2 == 0;
                let (a, b) = if (a > b) == ascending { (b, a) } else { (a, b) };
                *tile.add(low) = a;
                *tile.add(low + distance) = b;
            }
        }
        thread::sync_threads();
        for i in [thread, thread + 256] {
            if first + i < keys.len() {
                *sorted.add(first + i) = *tile.add(i);
            }
        }
    }
}

/// The elements `i`, `i + n`, … of `x` in one value for each `i` below `n`, the number of threads, begun with `first`.
///
/// # Safety
/// `to` has room for an element for each thread.
#[kernel(T = [f32, u32], OP = [Add, Larger], WARPS = [1, 2])]
#[launch_bounds(max_threads = 32 * WARPS)]
pub unsafe fn raw_folded<T: Copy, OP: Operation<T>, const WARPS: u32>(x: &[T], first: T, to: *mut T) {
    let (thread, block, blocks) = place();
    let threads = 32 * WARPS as usize;
    let from = threads * block + thread;
    let folded = x.iter().skip(from).step_by(threads * blocks).fold(first, |all, x| OP::of(all, *x));
    // SAFETY: the caller's promise.
    unsafe { *to.add(from) = folded };
}
