//! Starts copies to the slot of the ring that is read.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<32, 8>, #[shared] tile: Tile<f32, 8, 32>, x: Matrix<f32>) {
    let filling = block.commit(tile.copy_fours(&block, &x, |_, at| at));
    let full = block.share(filling);
    full.copy_fours(&block, &x, |_, (y, four)| (8 + y, four));
    block.each(|t| full.at(t.y(), t.x()));
}

fn main() {}
