//! A block without threads.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<0>) {
    block.each(|_| 0);
}

fn main() {}
