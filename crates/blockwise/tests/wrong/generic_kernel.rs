//! A kernel that is generic.

use blockwise::prelude::*;

#[kernel]
pub fn wrong<T: Copy>(block: Block<16, 16>) {
    block.each(|_| 0);
}

fn main() {}
