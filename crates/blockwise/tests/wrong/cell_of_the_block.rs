//! A thread writes a cell of the block.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>) {
    let last = core::cell::Cell::new(0);
    block.each(|t| last.set(t.x()));
}

fn main() {}
