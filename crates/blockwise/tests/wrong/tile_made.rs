//! A tile made out of nothing.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>) {
    let tile = Tile::<f32, 16, 16> {};
    tile.fill(&block, |_, _| 0.0);
}

fn main() {}
