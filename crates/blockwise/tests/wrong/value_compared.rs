//! Values of the threads compared by the block.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>) {
    let count = block.each(|t| t.x());
    if count == block.each(|_| 0) {}
}

fn main() {}
