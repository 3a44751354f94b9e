//! C = alpha · A · B + beta · C on tensor cores: f16 and bf16, tf32, and s8; A and B stored either way.
//!
//! | file | what it is |
//! | --- | --- |
//! | [`portable`] | `mma.sync` for every chip from capability 8.0 on; rows of matrices at multiples of 16 bytes |
//! | [`general`] | the same products of matrices of any size, pitch and place |
//! | [`lines`] | matrices copied to lines that begin at multiples of 16 bytes |

mod epilogue;
pub mod general;
pub mod lines;
pub mod portable;

/// A product's extents, pitches and factors, passed to each kernel by value.
///
/// C is m × n, row by row. What A's and B's pitches mean depends on how they are stored: from one row to the next, or
/// from one column to the next.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "host", derive(cust_core::DeviceCopy))]
pub struct TensorGemm {
    pub m: u32,
    pub n: u32,
    pub k: u32,
    pub lda: u32,
    pub ldb: u32,
    pub ldc: u32,
    /// Factor of the product; a whole number if the sums are integers.
    pub alpha: f32,
    /// Factor of what C held before, likewise; C is not read if this is zero.
    pub beta: f32,
    /// Not zero if C's elements are the 32-bit sums, zero if they are of the operands' 16-bit type.
    pub wide: u32,
}
