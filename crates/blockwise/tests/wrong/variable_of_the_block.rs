//! A thread writes a variable of the block.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>) {
    let mut last = 0;
    block.each(|t| last = t.x());
    if last == 3 {}
}

fn main() {}
