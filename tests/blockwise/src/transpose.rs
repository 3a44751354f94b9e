//! Rows are read, columns are written, and the turn happens in a shared tile.

use blockwise::prelude::*;

/// Both sides contiguous, and an odd number of words a row, so that the tile's columns go through all banks.
#[kernel]
pub fn safe_transpose_padded(
    block: Block<32, 8>,
    #[shared] tile: Tile<f32, 32, 32, Padded<1>>,
    from: Matrix<f32>,
    mut to: MatrixMut<f32, Mirrored<32, 32>>,
) {
    let (row, col) = (block.y() * 32, block.x() * 32);
    let filled = tile.fill(&block, |_, (y, x)| from.get_or(row + y, col + x, 0.0));
    let tile = block.share(filled);
    to.write(&block, |_, (y, x)| tile.at(x, y));
}
