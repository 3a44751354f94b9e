//! A tile shared before it is filled.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, #[shared] tile: Tile<f32, 16, 16>) {
    block.share(tile);
}

fn main() {}
