//! `stmatrix` and `ldmatrix`: fragments of products to and from shared memory, four 8 × 8 matrices of 16-bit elements at a
//! time.
//!
//! Lane l gives the address of row l % 8 of matrix l / 8, 16 bytes long. Register i holds elements 2 (l % 4) and the next of
//! row l / 4 of matrix i: what a thread has of a product of warpgroups, once two sums are packed in a register.

use cuda_std::ptx;

use crate::SharedAddress;

/// Stores four matrices.
///
/// # Safety
/// All lanes of the warp call it, each with the address of 16 bytes, aligned to 16, that nothing else touches.
#[inline(always)]
pub unsafe fn store_matrices(row: SharedAddress, [a, b, c, d]: [u32; 4]) {
    // SAFETY: the caller's promise.
    unsafe {
        ptx!("stmatrix.sync.aligned.m8n8.x4.shared.b16 [{row}], {{{a}, {b}, {c}, {d}}};",
             row = in(u32) row.bits(), a = in(u32) a, b = in(u32) b, c = in(u32) c, d = in(u32) d;
             options(convergent));
    }
}

/// Loads four matrices.
///
/// # Safety
/// As [`store_matrices`], and the rows were written.
#[inline(always)]
pub unsafe fn load_matrices(row: SharedAddress) -> [u32; 4] {
    let (a, b, c, d): (u32, u32, u32, u32);
    // SAFETY: the caller's promise.
    unsafe {
        ptx!("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{{a}, {b}, {c}, {d}}}, [{row}];",
             a = out(u32) a, b = out(u32) b, c = out(u32) c, d = out(u32) d, row = in(u32) row.bits();
             options(convergent));
    }
    [a, b, c, d]
}
