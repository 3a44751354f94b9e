//! A thread writes where it likes.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, mut out: SliceMut<f32>) {
    block.each(|t| out[t.x() / 2] = 1.0);
}

fn main() {}
