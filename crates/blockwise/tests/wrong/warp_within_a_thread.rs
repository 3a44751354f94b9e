//! A shuffle that some lanes would miss.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>) {
    let lanes = block.each(|t| t.x() as u32);
    block.warps(|warp| warp.each(|t| if t.x() < 8 { warp.exchange(&lanes, 1).of(t) } else { 0 }));
}

fn main() {}
