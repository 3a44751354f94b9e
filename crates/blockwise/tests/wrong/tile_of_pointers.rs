//! A tile of raw pointers.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, #[shared] tile: Tile<*mut u32, 16, 16>) {
    drop((block, tile));
}

fn main() {}
