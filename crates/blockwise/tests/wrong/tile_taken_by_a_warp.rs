//! One warp takes the tile out of a cell, and would wait for the others.

use core::cell::Cell;

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<256>, #[shared] tile: Tile<u32, 1, 256>) {
    let tile = Cell::new(Some(tile));
    block.warps(|warp| {
        if warp.index() == 1 {
            let tile = tile.take().unwrap();
            block.share(tile.fill(&block, |_, _| 1));
        }
        warp.each(|_| 0)
    });
}

fn main() {}
