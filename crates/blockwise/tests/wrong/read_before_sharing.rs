//! A tile read without a wait.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, #[shared] tile: Tile<f32, 16, 16>, mut out: SliceMut<f32>) {
    let tile = tile.fill(&block, |_, _| 0.0);
    out.write(&block, |t, _| tile.at(t.x(), t.y()));
}

fn main() {}
