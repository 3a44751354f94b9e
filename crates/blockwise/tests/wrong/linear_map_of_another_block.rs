//! A linear map for 256 threads, and a block of 192: some elements would be nobody's.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<192>, mut to: SliceMut<u32, Linear<1, 1024, 1, 0, 256>>) {
    to.write(&block, |_, i| i as u32);
}

fn main() {}
