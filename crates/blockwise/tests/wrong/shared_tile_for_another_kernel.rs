//! A kernel is called as a function, with a tile that others still read.

use blockwise::prelude::*;

#[kernel]
pub fn turned(block: Block<256>, #[shared] tile: Tile<u32, 1, 256>, from: &[u32], mut to: SliceMut<u32>) {
    let shared = block.share(tile.fill(&block, |t, _| from[t.x()]));
    to.write(&block, |t, _| shared.at(0, 255 - t.x()));
}

#[kernel]
pub fn wrong(block: Block<256>, #[shared] tile: Tile<u32, 1, 256>, from: &[u32], to: SliceMut<u32>) {
    let shared = block.share(tile.fill(&block, |t, _| from[t.x()]));
    turned(block, shared, from, to);
}

fn main() {}
