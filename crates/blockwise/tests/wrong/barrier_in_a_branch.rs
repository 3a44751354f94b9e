//! A barrier that half of the threads would miss.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, #[shared] tile: Tile<f32, 16, 16>) {
    let filled = tile.fill(&block, |_, _| 0.0);
    block.each(|t| {
        if t.x() < 8 {
            block.reuse(block.share(filled));
        }
    });
}

fn main() {}
