//! A warp that leaves its closure.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>) {
    let mut kept = None;
    block.warps(|warp| {
        kept = Some(warp);
        warp.each(|_| 0)
    });
}

fn main() {}
