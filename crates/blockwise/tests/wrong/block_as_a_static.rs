//! The block in a static.

use blockwise::prelude::*;

static BLOCK: Option<Block<16, 16>> = None;

#[kernel]
pub fn wrong(block: Block<16, 16>) {
    block.each(|_| 0);
}

fn main() {}
