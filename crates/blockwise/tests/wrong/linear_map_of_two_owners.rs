//! A linear map by which neighbouring threads have three elements in common.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<256>, mut to: SliceMut<u32, Linear<1, 1024, 1, 0, 1>>) {
    to.write(&block, |_, i| i as u32);
}

fn main() {}
