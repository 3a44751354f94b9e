//! From sums to C.
//!
//! The factor stands between the sums and their stores for more than its own sake: stores of 16 bytes want their four
//! registers in a row, and without it the assembler lays out the sums for the stores, which puts each in the register
//! bank of an operand of its multiply-adds, a conflict in nearly every one.

use cuda_std::prelude::*;
use tile::repeat;

use super::Product;
use super::tile::{Sums, Tile};
use tile::Four;

impl<const ROWS: usize, const COLS: usize, const DOWN: usize, const ACROSS: usize>
    Tile<ROWS, COLS, DOWN, ACROSS>
{
    /// Stores the thread's elements of the tile whose first row and column are `first`.
    ///
    /// # Safety
    /// As for the kernels; with `VECTOR`, rows of C are aligned to 16 bytes, and n is a multiple of 4 or they are padded to one.
    /// So are, always, the rows of the matrices that parts of K are stored to.
    #[inline(always)]
    pub unsafe fn store<const VECTOR: bool>(
        sums: Sums<ROWS, COLS>,
        p: Product,
        c: *mut f32,
        first: (usize, usize),
    ) {
        let (row, col) = Self::corner();
        let (row, col) = (first.0 + row, first.1 + col);
        let (m, n, ld) = (p.m as usize, p.n as usize, p.ldc as usize);
        // Of the wider tiles there are kernels for either alignment. In theirs a choice while the kernel runs would be one more
        // path to lay the sums out for, which cost A · Bᵀ 13 %.
        let aligned = n.is_multiple_of(4) && ld.is_multiple_of(4) && (c as usize).is_multiple_of(16);
        let vectors = VECTOR || thread::grid_dim_y() > 1 || (COLS == 4 && aligned);
        // SAFETY: only elements that C has are touched, each by one thread.
        unsafe {
            repeat!(for I in 0..16 {
                if I < ROWS {
                    let row = row + I / 4 * 16 + I % 4;
                    repeat!(for J in 0..2 {
                        if 4 * J < COLS && row < m {
                            let col = col + J * 32;
                            let to = c.wrapping_add(row * ld + col);
                            let s = &sums[I];
                            let mut out = [s[4 * J], s[4 * J + 1], s[4 * J + 2], s[4 * J + 3]];
                            out = out.map(|sum| p.alpha * sum);
                            if vectors {
                                if col < n {
                                    let to = to.cast::<Four<f32>>();
                                    if p.beta != 0.0 {
                                        let before = (*to).0;
                                        out = [0, 1, 2, 3].map(|l: usize| out[l] + p.beta * before[l]);
                                    }
                                    *to = Four(out);
                                }
                            } else {
                                repeat!(for L in 0..4 {
                                    if col + L < n {
                                        let to = to.wrapping_add(L);
                                        let before = if p.beta == 0.0 { 0.0 } else { p.beta * *to };
                                        *to = out[L] + before;
                                    }
                                });
                            }
                        }
                    });
                }
            });
        }
    }
}
