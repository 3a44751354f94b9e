//! The block in a struct that a thread captures.

use blockwise::prelude::*;

struct Holder {
    block: Block<16, 16>,
}

#[kernel]
pub fn wrong(block: Block<16, 16>) {
    let holder = Holder { block };
    holder.block.each(|_| {
        let _again = &holder;
    });
}

fn main() {}
