//! A scratch that holds something.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, #[shared] scratch: Scratch<f32>) {
    let mut filled = scratch.fill(&block, |_, _| 0.0);
    block.reduce(&mut filled, &block.each(|_| 0.0), |a, b| a + b);
}

fn main() {}
