//! A thread is given a raw pointer.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>) {
    let mut last = 0;
    let place = &raw mut last;
    block.each(|_| place.is_null());
}

fn main() {}
