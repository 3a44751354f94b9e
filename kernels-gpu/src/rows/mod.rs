//! Softmax and norms of each row of a matrix: read once, kept in registers, written once.
//!
//! | form | a row is | kept in registers, of f32 and of 16 bits |
//! | --- | --- | ---: |
//! | warp | a warp's | 1,024 elements |
//! | block | a block's of 256 threads | 8,192 |
//! | large | a block's of 1,024 threads, of 16 bits of 512 | 32,768 |
//! | again | a block's of 512 threads, which reads it for each step | none |
//!
//! Rows that do not begin at multiples of 16 bytes are moved element by element: by a warp that keeps up to 256, or again.
//! Everything is computed in f32, whatever the elements are.

pub mod norm;
pub mod softmax;

use core::mem::size_of;

use cuda_std::thread;
use tile::{VECTOR_BYTES, Vector};

use crate::primitives::block::{reduce_block, reduce_warp};
use crate::real::Real;

/// Threads of a block of kernels that give each warp a row.
pub const WARP_BLOCK: u32 = 256;

/// Elements of an access: of 16 bytes, or one.
pub const fn per_access<T>(is_aligned: bool) -> usize {
    if is_aligned { VECTOR_BYTES / size_of::<T>() } else { 1 }
}

/// A row, as `THREADS` threads have it: neighbouring accesses are neighbouring threads'.
///
/// `PER` elements are an access. Each thread keeps those of `KEPT` accesses; if that is 0, it reads them again from `first`.
pub struct Row<T, const PER: usize, const THREADS: usize, const KEPT: usize> {
    first: *const T,
    cols: usize,
    thread: usize,
    kept: [[T; PER]; KEPT],
    of_warps: *mut f32,
}

/// Which row is this thread's, of `THREADS`, and which of its threads it is.
#[inline(always)]
pub fn place<const THREADS: usize>() -> (usize, usize) {
    let (block, thread) = (thread::block_idx_x() as usize, thread::thread_idx_x() as usize);
    if THREADS == 32 {
        (block * (WARP_BLOCK as usize / 32) + thread / 32, thread % 32)
    } else {
        (block, thread)
    }
}

/// `PER` neighbours by one access.
///
/// # Safety
/// They exist, and begin at a multiple of their size.
#[inline(always)]
pub unsafe fn load<T: Copy, const PER: usize>(from: *const T) -> [T; PER] {
    // SAFETY: the caller's promise.
    unsafe {
        if size_of::<[T; PER]>() == VECTOR_BYTES {
            let vector = Vector::load(from);
            (&raw const vector).cast::<[T; PER]>().read()
        } else {
            from.cast::<[T; PER]>().read()
        }
    }
}

/// Stores `PER` neighbours by one access.
///
/// # Safety
/// As for [`load`], and no other thread reaches them.
#[inline(always)]
pub unsafe fn store<T: Copy, const PER: usize>(to: *mut T, elements: [T; PER]) {
    // SAFETY: the caller's promise.
    unsafe {
        if size_of::<[T; PER]>() == VECTOR_BYTES {
            (&raw const elements).cast::<Vector>().read_unaligned().store(to);
        } else {
            to.cast::<[T; PER]>().write(elements);
        }
    }
}

impl<T: Real, const PER: usize, const THREADS: usize, const KEPT: usize> Row<T, PER, THREADS, KEPT> {
    /// The row at `first`. Threads that keep it have loaded it.
    ///
    /// # Safety
    /// `cols` elements lie there, a multiple of `PER`, at a multiple of their access's size, which nothing writes meanwhile, and if
    /// they are kept, no more than the threads keep. `of_warps` is shared memory for a number a warp.
    #[inline(always)]
    pub unsafe fn load(first: *const T, cols: usize, thread: usize, of_warps: *mut f32) -> Self {
        let mut row = Self { first, cols, thread, kept: [[T::of_f32(0.0); PER]; KEPT], of_warps };
        for access in 0..KEPT {
            cuda_std::unroll!(full);
            let col = row.col(access);
            if col < cols {
                // SAFETY: it is inside of the row.
                row.kept[access] = unsafe { load(first.add(col)) };
            }
        }
        row
    }

    /// The first column of a thread's access.
    #[inline(always)]
    fn col(&self, access: usize) -> usize {
        (access * THREADS + self.thread) * PER
    }

    /// Visits the accesses of this thread: their first column, and their elements.
    #[inline(always)]
    pub fn visit(&mut self, mut visit: impl FnMut(usize, &mut [T; PER])) {
        if KEPT > 0 {
            for access in 0..KEPT {
                cuda_std::unroll!(full);
                let col = self.col(access);
                if col < self.cols {
                    visit(col, &mut self.kept[access]);
                }
            }
        } else {
            let mut col = self.col(0);
            while col < self.cols {
                // SAFETY: it is inside of the row.
                visit(col, &mut unsafe { load(self.first.add(col)) });
                col += THREADS * PER;
            }
        }
    }

    /// A number of all elements, each thread's own.
    #[inline(always)]
    pub fn fold<S: Copy>(&mut self, start: S, take: impl Fn(S, f32) -> S) -> S {
        let mut state = start;
        self.visit(|_, elements| {
            for element in *elements {
                state = take(state, element.to_f32());
            }
        });
        state
    }

    /// A number of all threads' numbers, for each of them.
    ///
    /// # Safety
    /// All threads of the row come by, and those of a block all have come by a barrier since the last time.
    #[inline(always)]
    pub unsafe fn reduce(&self, value: f32, combine: impl Fn(f32, f32) -> f32) -> f32 {
        // SAFETY: the caller's promise.
        unsafe {
            if THREADS == 32 {
                reduce_warp(value, combine)
            } else {
                reduce_block::<_, THREADS>(self.of_warps, value, combine)
            }
        }
    }

    /// Writes the row: each element of its column and what it was.
    ///
    /// # Safety
    /// There is room for the row, at a multiple of an access's size.
    #[inline(always)]
    pub unsafe fn write(&mut self, to: *mut T, element: impl Fn(usize, f32) -> f32) {
        self.visit(|col, elements| {
            let written = core::array::from_fn(|i| T::of_f32(element(col + i, elements[i].to_f32())));
            // SAFETY: it is inside of the row.
            unsafe { store::<T, PER>(to.add(col), written) };
        });
    }
}
