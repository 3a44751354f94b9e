//! A thread sets a OnceCell of the block.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>) {
    let last = core::cell::OnceCell::new();
    block.each(|t| last.set(t.x()).is_ok());
}

fn main() {}
