//! An input written.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, x: &[f32]) {
    block.each(|t| x[t.x()] = 0.0);
}

fn main() {}
