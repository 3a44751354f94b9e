//! A tile read after it was emptied.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, #[shared] tile: Tile<f32, 16, 16>) {
    let shared = block.share(tile.fill(&block, |_, _| 0.0));
    let empty = block.reuse(shared);
    block.each(|t| shared.at(t.y(), t.x()));
    drop(empty);
}

fn main() {}
