//! Split-K: where C has fewer tiles than the device has multiprocessors, several blocks share the K of a tile.
//!
//! Each part of K is a product of its own, into a matrix of its own in a scratch buffer; this kernel adds them, always in
//! the same order, so the result does not depend on who was first. C may have any rows and alignment: who takes packed
//! operands ([`pack`](super::pack)) lets one part be stored here, too.

use cuda_std::prelude::*;
use cuda_std::shared_array;

use crate::product::Product;
use tile::Four;

listed! { product_sum product_sum_many }

pub const BLOCK: u32 = 256;

/// Elements from one row of a part to the next: n, rounded up so that rows are aligned to 16 bytes.
pub const fn row_length(n: u32) -> u32 {
    n.next_multiple_of(4)
}

/// From this number of parts on, [`fn@product_sum_many`] adds them.
pub const MANY: u32 = 16;
/// How many threads of [`fn@product_sum_many`] share the parts of four columns.
pub const GROUPS: usize = 8;

/// C = parts\[0\] + parts\[1\] + … + beta · C, four columns a thread.
///
/// # Safety
/// `from` holds `parts` matrices of `rows` × [`row_length`]`(n)` elements, one after the other, aligned to 16 bytes, and `c` is
/// C as `p` describes it, which has no more rows. The grid has a thread for each four columns of each row of C.
#[doc(alias = "split-K")]
#[kernel]
#[block_dim(256)]
pub unsafe fn product_sum(p: Product, parts: u32, rows: u32, from: *const f32, c: *mut f32) {
    let place = FourColumns::new(&p, thread::index_1d() as usize);
    if place.row < p.m as usize {
        // SAFETY: the place is inside each part and of C.
        unsafe { place.store(&p, c, place.sum(from, rows, 0, parts as usize, 1)) }
    }
}

/// The same for many parts, where a thread alone would wait for one load after the other: every eighth part a thread, then
/// eight sums through shared memory.
///
/// # Safety
/// As for [`fn@product_sum`], but the grid has eight threads for each four columns.
#[kernel]
#[block_dim(256)]
pub unsafe fn product_sum_many(p: Product, parts: u32, rows: u32, from: *const f32, c: *mut f32) {
    const WIDE: usize = BLOCK as usize / GROUPS;
    let sums = shared_array![Four<f32>; WIDE * GROUPS];
    let (lane, group) = (thread::thread_idx_x() as usize % WIDE, thread::thread_idx_x() as usize / WIDE);
    let place = FourColumns::new(&p, thread::block_idx_x() as usize * WIDE + lane);
    let inside = place.row < p.m as usize;
    // SAFETY: the place is inside each part and of C; a barrier parts what is written to shared memory from what is read.
    unsafe {
        if inside {
            let sum = place.sum(from, rows, group, parts as usize, GROUPS);
            *sums.add(group * WIDE + lane) = Four(sum);
        }
        thread::sync_threads();
        if inside && group == 0 {
            let mut sum = (*sums.add(lane)).0;
            for group in 1..GROUPS {
                let other = (*sums.add(group * WIDE + lane)).0;
                sum = [0, 1, 2, 3].map(|l: usize| sum[l] + other[l]);
            }
            place.store(&p, c, sum);
        }
    }
}

/// Four columns of a row, in every part and in C.
struct FourColumns {
    /// Which four of a part.
    at: usize,
    across: usize,
    row: usize,
    col: usize,
}

impl FourColumns {
    #[inline(always)]
    fn new(p: &Product, at: usize) -> Self {
        let across = (row_length(p.n) as usize / 4).max(1);
        Self { at, across, row: at / across, col: at % across * 4 }
    }

    /// The sum of the parts `first`, `first + step`, … below `end`.
    #[inline(always)]
    unsafe fn sum(&self, from: *const f32, rows: u32, first: usize, end: usize, step: usize) -> [f32; 4] {
        let first_four = from.cast::<Four<f32>>().wrapping_add(self.at);
        let mut sum = [0.0; 4];
        let mut part = first;
        while part < end {
            cuda_std::unroll!(4);
            // SAFETY: the caller's place is inside each part.
            let four = unsafe { (*first_four.wrapping_add(part * rows as usize * self.across)).0 };
            sum = [0, 1, 2, 3].map(|l: usize| sum[l] + four[l]);
            part += step;
        }
        sum
    }

    /// Stores those of the four columns that C has.
    #[inline(always)]
    unsafe fn store(&self, p: &Product, c: *mut f32, sum: [f32; 4]) {
        let to = c.wrapping_add(self.row * p.ldc as usize + self.col);
        if p.beta == 0.0
            && p.n.is_multiple_of(4)
            && p.ldc.is_multiple_of(4)
            && (c as usize).is_multiple_of(16)
        {
            // SAFETY: the row has these four, and they are this thread's alone.
            unsafe { *to.cast::<Four<f32>>() = Four(sum) };
            return;
        }
        for l in 0..4 {
            if self.col + l < p.n as usize {
                let to = to.wrapping_add(l);
                // SAFETY: the element is one of C's, and this thread's alone.
                unsafe {
                    let before = if p.beta == 0.0 { 0.0 } else { p.beta * *to };
                    *to = sum[l] + before;
                }
            }
        }
    }
}
