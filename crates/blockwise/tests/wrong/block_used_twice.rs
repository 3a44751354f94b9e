//! A block given away twice.

use blockwise::prelude::*;

fn take(_: Block<16, 16>) {}

#[kernel]
pub fn wrong(block: Block<16, 16>) {
    take(block);
    take(block);
}

fn main() {}
