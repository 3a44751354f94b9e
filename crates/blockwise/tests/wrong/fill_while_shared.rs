//! A tile filled while others read.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, #[shared] tile: Tile<f32, 16, 16>) {
    let tile = block.share(tile.fill(&block, |_, _| 0.0));
    tile.fill(&block, |_, _| 1.0);
}

fn main() {}
