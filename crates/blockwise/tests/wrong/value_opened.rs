//! A value of the threads opened by its field.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>) {
    let count = block.each(|t| t.x());
    if count.value == 0 {}
}

fn main() {}
