//! The elements of a shared row are read after the tile was given back.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<256>, #[shared] memory: Dynamic<u32>, mut to: SliceMut<u32, Part<1>>) {
    let (tile, _) = memory.tile(1, 256);
    let shared = block.share(tile.fill(&block, |t, _| t.x() as u32));
    let row = shared.along(0);
    let filled = block.reuse(shared).fill(&block, |_, _| 0);
    let sum: u32 = row.sum();
    to.write(&block, |_, _| sum);
}

fn main() {}
