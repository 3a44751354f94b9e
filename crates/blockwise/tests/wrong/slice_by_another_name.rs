//! A slice behind an alias.

use blockwise::prelude::*;

type Numbers = &'static [u32];

#[kernel]
pub fn wrong(block: Block<256>, x: Numbers, mut out: SliceMut<u32>) {
    out.write(&block, |_, i| x[i]);
}

fn main() {}
