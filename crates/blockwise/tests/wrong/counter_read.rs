//! A counter read without an atomic.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, counts: Counters<u32>) {
    block.each(|t| counts[t.x()]);
}

fn main() {}
