//! A tile filled by a block of another shape.

use blockwise::prelude::*;

fn shared_by(block: &Block<32, 8>, tile: Tile<f32, 16, 16>) {
    tile.fill(block, |_, _| 0.0);
}

#[kernel]
pub fn wrong(block: Block<16, 16>, #[shared] tile: Tile<f32, 16, 16>) {
    shared_by(&block, tile);
}

fn main() {}
