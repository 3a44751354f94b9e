//! A tile of elements without a size.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, #[shared] tile: Tile<(), 16, 16>) {
    tile.fill(&block, |_, _| ());
}

fn main() {}
