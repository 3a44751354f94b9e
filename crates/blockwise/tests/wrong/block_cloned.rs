//! A block cloned.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>) {
    let other = block.clone();
    drop(block);
    other.each(|_| 0);
}

fn main() {}
