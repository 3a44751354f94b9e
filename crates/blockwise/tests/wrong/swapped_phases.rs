//! Tiles of two phases swapped.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, #[shared] tile: Tile<f32, 16, 16>, #[shared] other: Tile<f32, 16, 16>) {
    let mut shared = block.share(tile.fill(&block, |_, _| 0.0));
    let mut filled = other.fill(&block, |_, _| 0.0);
    core::mem::swap(&mut shared, &mut filled);
}

fn main() {}
