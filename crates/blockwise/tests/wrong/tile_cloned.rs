//! A tile cloned.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, #[shared] tile: Tile<f32, 16, 16>) {
    let other = tile.clone();
    tile.fill(&block, |_, _| 0.0);
    other.fill(&block, |_, _| 1.0);
}

fn main() {}
