//! Elements that are addresses: no host has them.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<256>, x: &[&'static u32], mut out: SliceMut<u32>) {
    out.write(&block, |_, i| *x[i]);
}

fn main() {}
