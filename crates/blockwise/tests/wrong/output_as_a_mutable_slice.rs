//! A mutable slice.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, out: &mut [f32]) {
    block.each(|t| out[t.x()] = 0.0);
}

fn main() {}
