//! Memory of the block's without its mark.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<256>, mut scratch: Scratch<u32>, mut out: SliceMut<u32, Part<1>>) {
    let sum = block.reduce(&mut scratch, &block.each(|t| t.x() as u32), |a, b| a + b);
    out.write(&block, |_, _| sum);
}

fn main() {}
