//! A phase passed without its barrier.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, #[shared] tile: Tile<f32, 16, 16>) {
    let filled = tile.fill(&block, |_, _| 0.0);
    blockwise::Share::shared(filled);
}

fn main() {}
