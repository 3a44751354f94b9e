//! Pairs exchanged while others read.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, #[shared] tile: Tile<u32, 1, 256>) {
    let shared = block.share(tile.fill(&block, |_, _| 0));
    block.exchange(shared, 1, |_, _, pair| pair);
}

fn main() {}
