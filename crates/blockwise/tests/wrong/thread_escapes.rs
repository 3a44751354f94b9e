//! A thread leaves its closure.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>) {
    let thread = block.each(|t| t);
    drop(thread);
}

fn main() {}
