//! A shuffle of more than 4 bytes.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>) {
    let lanes = block.each(|t| [t.x() as u32; 3]);
    block.warps(|warp| warp.exchange(&lanes, 1));
}

fn main() {}
