//! A block begun a second time.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>) {
    let other = <Block<16, 16> as blockwise::BlockToken>::begin();
    other.each(|_| 0);
}

fn main() {}
