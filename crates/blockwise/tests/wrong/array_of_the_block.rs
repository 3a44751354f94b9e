//! A thread writes an array of the block.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>) {
    let mut seen = [0; 16];
    block.each(|t| seen[t.x()] = 1);
}

fn main() {}
