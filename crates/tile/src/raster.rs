//! The order in which the tiles of a product are computed.

use core::ops::{Add, Div, Mul, Rem, Sub};

/// A number of tiles: `u32`, or `usize` in kernels whose other indices are 64 bits wide.
pub trait TileIndex:
    Copy
    + Ord
    + From<u8>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Rem<Output = Self>
{
    /// At most `group` of the tiles that are left, and at least 1.
    fn height(left: Self, group: Self) -> Self;
}

impl TileIndex for u32 {
    #[inline(always)]
    #[allow(
        clippy::manual_clamp,
        reason = "after `clamp`, LLVM does not see that it is not zero, and checks"
    )]
    fn height(left: Self, group: Self) -> Self {
        left.min(group).max(1)
    }
}

impl TileIndex for usize {
    /// The other order, with its check: without it ptxas spills `tensor_f16_general` on sm_120.
    #[inline(always)]
    fn height(left: Self, group: Self) -> Self {
        left.clamp(1, group)
    }
}

/// The tiles of a matrix, `down` × `across`, in columns of `group` tiles.
///
/// In row-major order, the blocks that run together would read all of B and little of A, which costs 40 % at 4096². In
/// columns of `group` tiles they share both, in L2.
///
/// ```
/// let raster = tile::Raster { down: 3_u32, across: 2, group: 2 };
/// let order: Vec<_> = (0..raster.tiles()).map(|tile| raster.tile(tile)).collect();
/// assert_eq!(order, [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (2, 1)]);
/// ```
#[doc(alias = "threadblock swizzle")]
#[derive(Clone, Copy)]
pub struct Raster<I = u32> {
    /// Tiles in a column of the matrix.
    pub down: I,
    /// Tiles in a row.
    pub across: I,
    /// Tiles of a column that come before the next column's.
    pub group: I,
}

impl<I: TileIndex> Raster<I> {
    /// How many tiles there are.
    #[inline(always)]
    pub fn tiles(self) -> I {
        self.down * self.across
    }

    /// Row and column of the tile with this number.
    #[inline(always)]
    pub fn tile(self, number: I) -> (I, I) {
        // At least 1, last of all: else a division by zero is checked for, and a call in a kernel costs it registers.
        let full = (self.group * self.across).max(I::from(1u8));
        let (group, inside) = (number / full, number % full);
        let first = group * self.group;
        let height = I::height(self.down - first, self.group);
        (first + inside % height, inside / height)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tile_comes_once() {
        for (down, across, group) in [(1_u32, 1, 8), (8, 3, 8), (13, 5, 4), (7, 9, 16)] {
            let raster = Raster { down, across, group };
            let mut seen = [[0; 16]; 16];
            for number in 0..raster.tiles() {
                let (row, col) = raster.tile(number);
                seen[row as usize][col as usize] += 1;
            }
            for (row, col) in (0..16).flat_map(|row| (0..16).map(move |col| (row, col))) {
                let inside = row < down as usize && col < across as usize;
                assert_eq!(seen[row][col], u32::from(inside), "{down} × {across}: {row}, {col}");
            }
        }
    }
}
