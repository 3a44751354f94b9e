//! A value that threads could change through a shared reference.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>) {
    let cells = block.each(|t| core::cell::Cell::new(t.x()));
    drop(cells);
}

fn main() {}
