//! Reads a tile whose copies are on their way.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<32, 8>, #[shared] tile: Tile<f32, 8, 32>, x: Matrix<f32>) {
    let tile = block.commit(tile.copy_fours(&block, &x, |_, at| at));
    block.each(|t| tile.at(t.y(), t.x()));
}

fn main() {}
