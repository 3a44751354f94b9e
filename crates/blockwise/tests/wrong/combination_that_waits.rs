//! Lanes combine values, and some of them wait at a barrier meanwhile.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<256>, #[shared] mut scratch: Scratch<u32>) {
    let own = block.each(|t| t.x() as u32);
    block.reduce(&mut scratch, &own, |a, b| {
        if a > 3 {
            block.each(|_| 0);
        }
        a + b
    });
}

fn main() {}
