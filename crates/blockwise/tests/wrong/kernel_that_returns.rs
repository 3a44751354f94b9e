//! A kernel that returns something.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>) -> PerThread<i32> {
    block.each(|_| 0)
}

fn main() {}
