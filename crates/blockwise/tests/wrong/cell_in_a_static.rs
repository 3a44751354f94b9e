//! All threads would write it.

use core::cell::Cell;

use blockwise::prelude::*;

static LAST: Cell<usize> = Cell::new(0);

#[kernel]
pub fn wrong(block: Block<256>) {
    block.each(|t| LAST.set(t.x()));
}

fn main() {}
