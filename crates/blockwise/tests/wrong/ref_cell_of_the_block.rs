//! A thread writes a RefCell of the block.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>) {
    let last = core::cell::RefCell::new(0);
    block.each(|t| *last.borrow_mut() = t.x());
}

fn main() {}
