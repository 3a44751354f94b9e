//! What a warp agrees on is not the same for the block.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>) {
    let first: usize = block.warps(|warp| warp.index());
    if first == 0 {}
}

fn main() {}
