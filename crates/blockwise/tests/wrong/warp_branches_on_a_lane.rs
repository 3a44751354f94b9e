//! A warp branches on a value of its lanes.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>) {
    let left = block.each(|t| t.x() < 8);
    block.warps(|warp| if left { warp.each(|_| 0) } else { warp.each(|_| 1) });
}

fn main() {}
