//! A tile filled twice.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, #[shared] tile: Tile<f32, 16, 16>) {
    let first = tile.fill(&block, |_, _| 0.0);
    let second = tile.fill(&block, |_, _| 1.0);
    block.share((first, second));
}

fn main() {}
