//! A reference that is no slice.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, x: &f32) {
    block.each(|_| *x);
}

fn main() {}
