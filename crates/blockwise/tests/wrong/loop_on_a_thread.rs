//! The block loops for as long as a thread says.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>) {
    let count = block.each(|t| t.x());
    for _ in 0..count {
        block.each(|_| 0);
    }
}

fn main() {}
