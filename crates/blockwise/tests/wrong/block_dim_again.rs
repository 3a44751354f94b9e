//! A shape that the block's type says already.

use blockwise::prelude::*;

#[kernel]
#[block_dim(16, 16)]
pub fn wrong(block: Block<16, 16>) {
    block.each(|_| 0);
}

fn main() {}
