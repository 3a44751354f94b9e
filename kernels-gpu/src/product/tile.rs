//! Who computes what, and in which order.
//!
//! A thread has `ROWS` × `COLS` elements of C, a warp 4 × 8 threads, a block `DOWN` × `ACROSS` warps. For one k a thread loads
//! ROWS of A and COLS of B from shared memory, 16 bytes at a time, for ROWS × COLS multiply-adds.
//!
//! Lanes are numbered in the order of a Z: lane and lane ^ 1 share rows, lane and lane ^ 2 share columns. So in a 16-byte
//! load two lanes of four want the same words, which makes it 2 wavefronts instead of 4.

use cuda_std::GpuFloat;
use cuda_std::prelude::*;
use tile::repeat;

use super::access::load_shared_4;
use super::operand::{STEP, pitch};

/// A block of `DOWN` × `ACROSS` warps whose threads have `ROWS` × `COLS` elements each.
pub struct Tile<const ROWS: usize, const COLS: usize, const DOWN: usize, const ACROSS: usize>;

/// A thread's operands for one k: elements of A and of B.
pub type Fragment<const ROWS: usize, const COLS: usize> = ([f32; ROWS], [f32; COLS]);

pub type Sums<const ROWS: usize, const COLS: usize> = [[f32; COLS]; ROWS];

impl<const ROWS: usize, const COLS: usize, const DOWN: usize, const ACROSS: usize>
    Tile<ROWS, COLS, DOWN, ACROSS>
{
    pub const M: usize = 4 * ROWS * DOWN;
    pub const N: usize = 8 * COLS * ACROSS;
    pub const THREADS: usize = 32 * DOWN * ACROSS;
    /// Bytes from the rows of A in a stage to those of B.
    pub const TO_B: usize = 4 * STEP * pitch(Self::M);
    pub const STAGE: usize = Self::TO_B + 4 * STEP * pitch(Self::N);

    /// Bytes from one stage to another: a power of two.
    pub const STRIDE: usize = Self::STAGE.next_power_of_two();

    pub const fn shared_bytes(stages: usize) -> u32 {
        ((stages - 1) * Self::STRIDE + Self::STAGE) as u32
    }

    /// Exclusive or with this leads from an address in the first stage to one in the stage of place `i` of the ring.
    ///
    /// Two stages that follow each other differ in one bit (a Gray code: 0, 1, 3, 2), so that an address goes from stage to
    /// stage by one instruction, where a sum would need a comparison at the end of the ring. The addresses of the first
    /// stage must not have these bits: dynamic shared memory begins within what a stage leaves of its stride.
    pub const fn stage(i: usize) -> u32 {
        ((i ^ (i / 2)) * Self::STRIDE) as u32
    }

    /// The thread's first row and column in the tile. Its others are rows + 16 i + {0..3}, columns + 32 j + {0..3}.
    #[inline(always)]
    pub fn corner() -> (usize, usize) {
        let thread = thread::thread_idx_x() as usize;
        let (lane, warp) = (thread % 32, thread / 32);
        let (x, y) = (2 * (lane / 8) + lane % 2, lane / 2 % 4);
        (warp / ACROSS * (4 * ROWS) + 4 * y, warp % ACROSS * (8 * COLS) + 4 * x)
    }

    /// Loads the fragment of the `K`th k of a stage, given where the thread's parts of A and B in that stage begin.
    ///
    /// # Safety
    /// They do, and a barrier came after they were written.
    #[inline(always)]
    pub unsafe fn fragment<const K: usize>(from_a: u32, from_b: u32) -> Fragment<ROWS, COLS> {
        let (mut a, mut b) = ([0.0; ROWS], [0.0; COLS]);
        // SAFETY: the caller's promise.
        unsafe {
            repeat!(for J in 0..2 {
                if 4 * J < COLS {
                    let four = load_shared_4!(from_b, 4 * (K * pitch(Self::N) + 32 * J));
                    [b[4 * J], b[4 * J + 1], b[4 * J + 2], b[4 * J + 3]] = four;
                }
            });
            repeat!(for I in 0..4 {
                if 4 * I < ROWS {
                    let four = load_shared_4!(from_a, 4 * (K * pitch(Self::M) + 16 * I));
                    [a[4 * I], a[4 * I + 1], a[4 * I + 2], a[4 * I + 3]] = four;
                }
            });
        }
        (a, b)
    }

    /// Adds the products of a fragment to the sums, in one of [`ORDERS`].
    #[inline(always)]
    pub fn multiply<const ORDER: usize>(sums: &mut Sums<ROWS, COLS>, (a, b): &Fragment<ROWS, COLS>) {
        repeat!(for I in 0..16 {
            if I < ROWS {
                let row = const { row_at(ROWS, ORDER, I) };
                repeat!(for J in 0..8 {
                    if J < COLS {
                        let col = const { column_at(COLS, ORDER, I, J) };
                        sums[row][col] = GpuFloat::mul_add(b[col], a[row], sums[row][col]);
                    }
                });
            }
        });
    }
}

/// Orders of 16 rows and 8 columns.
///
/// A multiply-add reads three registers, and the two banks of the register file give one each a cycle; one operand may
/// stay where the last one had it. Row by row, forward and back, the column at the turn serves twice. Beyond that
/// the order only decides how the assembler lays out the registers, and so how often two operands share a bank; that is
/// worth 5 % between an order at random and the best. Each of the large kernels has its own, the fastest of about 1,700
/// that an H200's driver compiled and timed at 4096³.
pub const ORDERS: [([usize; 16], [usize; 8]); 5] = [
    ([0, 1, 10, 11, 2, 3, 4, 5, 12, 13, 6, 7, 14, 15, 8, 9], [0, 2, 4, 6, 1, 3, 5, 7]),
    ([2, 3, 0, 1, 14, 15, 12, 13, 6, 7, 4, 5, 10, 9, 8, 11], [2, 0, 6, 4, 7, 1, 5, 3]),
    ([6, 11, 10, 7, 0, 1, 4, 13, 2, 5, 8, 3, 14, 15, 12, 9], [0, 6, 2, 4, 1, 5, 7, 3]),
    ([8, 9, 2, 3, 0, 1, 4, 5, 14, 7, 6, 15, 10, 11, 12, 13], [0, 2, 4, 6, 7, 1, 5, 3]),
    ([2, 5, 0, 1, 14, 15, 8, 3, 6, 13, 4, 9, 10, 7, 12, 11], [0, 2, 4, 6, 1, 3, 5, 7]),
];

/// The row at place `i`; smaller tiles take rows as they come.
const fn row_at(rows: usize, order: usize, i: usize) -> usize {
    if i >= rows {
        0
    } else if rows == 16 {
        ORDERS[order].0[i]
    } else {
        i
    }
}

/// The column at place `j` of the row at place `i`; odd places go back.
const fn column_at(cols: usize, order: usize, i: usize, j: usize) -> usize {
    if j >= cols {
        return 0;
    }
    let place = if i.is_multiple_of(2) { j } else { cols - 1 - j };
    if cols == 8 { ORDERS[order].1[place] } else { [0, 2, 1, 3][place] }
}
