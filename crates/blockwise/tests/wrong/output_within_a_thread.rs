//! An output written from within a thread.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, mut out: SliceMut<f32>) {
    block.each(|_| out.write(&block, |_, _| 1.0));
}

fn main() {}
