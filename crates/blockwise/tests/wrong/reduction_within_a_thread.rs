//! A reduction that some threads would miss.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, #[shared] mut scratch: Scratch<f32>) {
    block.each(
        |t| if t.x() < 8 { block.reduce(&mut scratch, &block.each(|_| 1.0), |a, b| a + b) } else { 0.0 },
    );
}

fn main() {}
