//! A tile read while others add to it.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, #[shared] tile: Tile<u32, 16, 16>) {
    let counting = block.count(tile.fill(&block, |_, _| 0));
    block.each(|t| counting.at(t.y(), t.x()));
}

fn main() {}
