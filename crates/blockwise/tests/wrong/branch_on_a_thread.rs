//! The block branches on a value of the threads.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>) {
    let left = block.each(|t| t.x() < 8);
    if left {
        block.each(|_| 0);
    }
}

fn main() {}
