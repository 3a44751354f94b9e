//! A value changed from within a thread.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>) {
    let mut count = block.each(|_| 0);
    block.each(|t| count.update(&block, |_, count| *count = t.x()));
}

fn main() {}
