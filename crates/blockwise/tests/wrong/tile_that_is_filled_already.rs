//! A parameter that claims to be filled.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, #[shared] tile: Tile<f32, 16, 16, Plain, blockwise::Filled>) {
    block.share(tile);
}

fn main() {}
