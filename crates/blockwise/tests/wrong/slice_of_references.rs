//! A slice of references.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, x: &[&mut f32]) {
    block.each(|t| *x[t.x()]);
}

fn main() {}
