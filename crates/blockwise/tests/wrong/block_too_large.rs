//! A block of more threads than there are.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<64, 64>) {
    block.each(|_| 0);
}

fn main() {}
