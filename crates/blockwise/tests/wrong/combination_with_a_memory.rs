//! A combination that keeps what it saw.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, #[shared] mut scratch: Scratch<f32>) {
    let seen = core::cell::Cell::new(0.0);
    block.reduce(&mut scratch, &block.each(|_| 1.0), |a, b| {
        seen.set(a);
        a + b
    });
}

fn main() {}
