//! Reads 32 bytes at once: no access is so wide.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<32, 8>, #[shared] tile: Tile<f64, 32, 32>) {
    let tile = block.share(tile.fill(&block, |_, _| 0.0));
    block.each(|t| tile.four(t.y(), 0)[0]);
}

fn main() {}
