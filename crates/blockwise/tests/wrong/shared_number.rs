//! A number in shared memory.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, #[shared] number: f32) {
    block.each(|_| number);
}

fn main() {}
