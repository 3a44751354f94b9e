//! A scratch used by a reduction within itself.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, #[shared] scratch: Scratch<f32>) {
    let mut scratch = scratch;
    block.reduce(&mut scratch, &block.each(|_| 0.0), |a, _| {
        block.reduce(&mut scratch, &block.each(|_| a), |a, _| a)
    });
}

fn main() {}
