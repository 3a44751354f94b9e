//! The block within a thread.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>) {
    block.each(|t| {
        if t.x() < 8 {
            block.each(|_| 0);
        }
    });
}

fn main() {}
