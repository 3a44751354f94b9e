//! A loop that does not give the tile back.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, #[shared] tile: Tile<f32, 16, 16>) {
    for _ in 0..4 {
        let shared = block.share(tile.fill(&block, |_, _| 0.0));
        block.each(|t| shared.at(t.y(), t.x()));
    }
}

fn main() {}
