//! Reads four neighbours at once where the layout has none.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<32, 8>, #[shared] tile: Tile<f32, 32, 32, Swizzled>) {
    let tile = block.share(tile.fill(&block, |_, _| 0.0));
    block.each(|t| tile.four(t.y(), 0)[0]);
}

fn main() {}
