//! Splitting K: where C has fewer tiles than the device has multiprocessors, several blocks share the K of a tile.
//!
//! Each part of K is a product of its own, into a matrix of its own in a scratch buffer; this kernel adds them, always in
//! the same order, so the result does not depend on who was first.

use cuda_std::prelude::*;

use super::Product;
use super::access::Four;

/// Threads of a block.
pub const BLOCK: u32 = 256;

/// Elements from one row of a part to the next: n, rounded up so that rows are aligned to 16 bytes.
pub const fn row_length(n: u32) -> u32 {
    n.next_multiple_of(4)
}

/// C = parts\[0\] + parts\[1\] + … + beta · C, four columns a thread.
///
/// # Safety
/// `from` holds `parts` matrices of m × [`row_length`]`(n)` elements, one after the other, aligned to 16 bytes, and `c` is C as
/// `p` describes it. Threads of the grid: a fourth of `row_length(n)` along x, m along y.
#[kernel]
#[block_dim(256)]
pub unsafe fn product_sum(p: Product, parts: u32, from: *const f32, c: *mut f32) {
    let (m, n) = (p.m as usize, p.n as usize);
    let across = (row_length(p.n) as usize / 4).max(1);
    let at = thread::index_1d() as usize;
    if at >= m * across {
        return;
    }
    let (row, col) = (at / across, at % across * 4);
    // SAFETY: the row and the four columns are inside each part; of C, those that it has are touched.
    unsafe {
        let first = from.cast::<Four>().wrapping_add(at);
        let mut sum = [0.0; 4];
        for part in 0..parts as usize {
            cuda_std::unroll!(4);
            let four = (*first.wrapping_add(part * m * across)).0;
            sum = [0, 1, 2, 3].map(|l: usize| sum[l] + four[l]);
        }
        for l in 0..4 {
            if col + l < n {
                let to = c.wrapping_add(row * p.ldc as usize + col + l);
                let before = if p.beta == 0.0 { 0.0 } else { p.beta * *to };
                *to = sum[l] + before;
            }
        }
    }
}
