//! The block in another place.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(x: &[f32], block: Block<16, 16>) {
    block.each(|t| x[t.x()]);
}

fn main() {}
