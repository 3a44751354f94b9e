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

/// A block's tile (row, column) of `down` × `across`: columns of `GROUP` tiles, so that the blocks that run together
/// share rows of A and columns of B in L2. It is [`tile::Raster`] in 64 bits: in 32 these kernels become other machine code.
#[inline(always)]
fn place<const GROUP: usize>(id: usize, down: usize, across: usize) -> (usize, usize) {
    // At least 1: a division by zero would be checked for, and a call in a kernel costs it registers.
    let full = (GROUP * across).max(1);
    let (group, inside) = (id / full, id % full);
    let height = (down - group * GROUP).clamp(1, GROUP);
    (group * GROUP + inside % height, inside / height)
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn every_tile_has_one_block() {
        for (down, across) in [(1, 1), (8, 3), (13, 5), (7, 9)] {
            let mut seen = [[0; 16]; 16];
            for id in 0..down * across {
                let (row, col) = place::<8>(id, down, across);
                seen[row][col] += 1;
            }
            for (row, col) in (0..16).flat_map(|row| (0..16).map(move |col| (row, col))) {
                assert_eq!(
                    seen[row][col],
                    u8::from(row < down && col < across),
                    "{down} × {across}: {row}, {col}"
                );
            }
        }
    }
}
