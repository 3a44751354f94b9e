//! A reduction of what is not a value of the threads.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, #[shared] mut scratch: Scratch<f32>) {
    block.reduce(&mut scratch, 1.0, |a, b| a + b);
}

fn main() {}
