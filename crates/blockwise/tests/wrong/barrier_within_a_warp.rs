//! A barrier that some warps would miss.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, #[shared] tile: Tile<f32, 16, 16>) {
    let filled = tile.fill(&block, |_, _| 0.0);
    block.warps(|warp| {
        if warp.index() == 0 {
            block.share(filled);
        }
        warp.each(|_| 0)
    });
}

fn main() {}
