//! The block asks what a counter holds.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, counts: Counters<u32>) {
    if counts.add(0, 1) == 0 {
        block.each(|_| 0);
    }
}

fn main() {}
