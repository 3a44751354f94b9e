//! A thread writes into a tile that is read.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, #[shared] tile: Tile<f32, 16, 16>) {
    let shared = block.share(tile.fill(&block, |_, _| 0.0));
    block.each(|t| *shared.at(t.y(), t.x()) = 1.0);
}

fn main() {}
