//! Which way an operand lies in memory, and the swizzle that each way needs.

use crate::sealed::Sealed;

/// The direction in which an operand's elements follow each other in memory. Sealed: copies go where it says.
///
/// ```compile_fail,E0277
/// #[derive(Clone, Copy)]
/// struct Beyond;
/// impl tile::mma::Order for Beyond {
///     const ALONG_K: bool = true;
///     fn permutation<const SIZE: usize>(_: usize, _: usize) -> usize { 1 << 20 }
/// }
/// ```
pub trait Order: Sealed + Copy {
    /// Whether that is K.
    const ALONG_K: bool;

    /// By how much the 16-byte chunks of a line of `line` bytes are permuted: chunk *c* of line *i* lies at *c* xor this.
    fn permutation<const SIZE: usize>(line: usize, index: usize) -> usize;
}

/// K is contiguous: A stored row by row, or B column by column. A line of the tile is a row of A or a column of B.
#[derive(Clone, Copy, Debug)]
pub struct AlongK;

impl Sealed for AlongK {}
impl Order for AlongK {
    const ALONG_K: bool = true;

    /// `ldmatrix` takes the same chunk of 8 lines at once. In lines of 128 bytes those are one bank group, so each line
    /// gets its own permutation; lines of 64 bytes lie two in 128, and pairs of them share one.
    #[inline(always)]
    fn permutation<const SIZE: usize>(line: usize, index: usize) -> usize {
        if line == 128 { index % 8 } else { index / 2 % 4 }
    }
}

/// K is not contiguous: A stored column by column, or B row by row. A line of the tile is one step of K.
#[derive(Clone, Copy, Debug)]
pub struct AcrossK;

impl Sealed for AcrossK {}
impl Order for AcrossK {
    const ALONG_K: bool = false;

    /// Lines are multiples of 128 bytes. 16-bit elements come by `ldmatrix.trans`, 8 lines at once. 32-bit elements come
    /// one by one, 8 lanes along each of 4 lines: 2 chunks a line.
    #[inline(always)]
    fn permutation<const SIZE: usize>(_line: usize, index: usize) -> usize {
        if SIZE == 2 { index % 8 } else { index % 4 * 2 }
    }
}
