//! A tile added to that holds nothing.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, #[shared] tile: Tile<u32, 16, 16>) {
    block.count(tile);
}

fn main() {}
