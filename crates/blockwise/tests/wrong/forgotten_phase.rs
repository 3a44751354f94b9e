//! A tile whose phase was forgotten.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, #[shared] tile: Tile<f32, 16, 16>) {
    let shared = block.share(tile.fill(&block, |_, _| 0.0));
    core::mem::forget(shared);
    tile.fill(&block, |_, _| 1.0);
}

fn main() {}
