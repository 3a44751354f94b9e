//! A value of the threads opened without one.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>) {
    let count = block.each(|t| t.x());
    let _opened = count.of();
}

fn main() {}
