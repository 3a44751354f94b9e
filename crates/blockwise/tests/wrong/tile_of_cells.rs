//! A tile of cells.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, #[shared] tile: Tile<core::cell::Cell<u32>, 16, 16>) {
    drop((block, tile));
}

fn main() {}
