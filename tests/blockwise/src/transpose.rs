//! Rows are read, columns are written, and the turn happens in a shared tile.
#![forbid(unsafe_code)]

use blockwise::prelude::*;

/// Straight from memory to memory: a warp reads one row and writes a column, 32 rows.
#[kernel]
#[requires(from.rows() == to.cols(), from.cols() == to.rows())]
pub fn safe_transpose_naive(block: Block<32, 8>, from: Matrix<f32>, mut to: MatrixMut<f32, Turned<32, 32>>) {
    let (row, col) = (block.y() * 32, block.x() * 32);
    to.write(&block, |_, (x, y)| from.at(row + y, col + x));
}

/// Writes the transposes through a tile, by its layout.
macro_rules! tiled {
    ($($(#[$doc:meta])* $name:ident $layout:ty;)*) => {$(
        $(#[$doc])*
        #[kernel]
        #[requires(from.rows() == to.cols(), from.cols() == to.rows())]
        pub fn $name(
            block: Block<32, 8>,
            #[shared] tile: Tile<f32, 32, 32, $layout>,
            from: Matrix<f32>,
            mut to: MatrixMut<f32, Mirrored<32, 32>>,
        ) {
            let (row, col) = (block.y() * 32, block.x() * 32);
            let filled = tile.fill(&block, |_, (y, x)| from.get_or(row + y, col + x, 0.0));
            let tile = block.share(filled);
            to.write(&block, |_, (y, x)| tile.at(x, y));
        }
    )*};
}
tiled! {
    /// A column of the tile lies in one bank.
    safe_transpose_tile Plain;
    /// An odd number of words a row, so that the tile's columns go through all banks.
    safe_transpose_padded Padded<1>;
    /// Columns permuted by row: free of conflicts without an unused column.
    safe_transpose_swizzled Swizzled;
}
