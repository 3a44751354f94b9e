//! A tile emptied that was never shared.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, #[shared] tile: Tile<f32, 16, 16>) {
    block.reuse(tile.fill(&block, |_, _| 0.0));
}

fn main() {}
