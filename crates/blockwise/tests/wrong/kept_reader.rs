//! A reader kept beyond the phase.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, #[shared] tile: Tile<f32, 16, 16>) {
    let shared = block.share(tile.fill(&block, |_, _| 0.0));
    let reader = &shared;
    block.reuse(shared);
    block.each(|t| reader.at(t.y(), t.x()));
}

fn main() {}
