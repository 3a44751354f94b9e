//! A block made out of nothing.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>) {
    let other = Block::<16, 16> {};
    other.each(|_| 0);
}

fn main() {}
