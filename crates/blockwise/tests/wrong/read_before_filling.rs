//! A tile read before it is filled.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, #[shared] tile: Tile<f32, 16, 16>, mut out: SliceMut<f32>) {
    out.write(&block, |t, _| tile.at(t.y(), t.x()));
}

fn main() {}
