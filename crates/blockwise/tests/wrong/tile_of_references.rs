//! A tile of references to what a thread has.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, #[shared] tile: Tile<&u32, 16, 16>) {
    tile.fill(&block, |t, _| &(t.x() as u32));
}

fn main() {}
