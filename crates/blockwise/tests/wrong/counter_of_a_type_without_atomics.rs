//! A counter of a type that atomics do not add to.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, counts: Counters<u8>) {
    block.each(|t| counts.add(t, 0, 1));
}

fn main() {}
