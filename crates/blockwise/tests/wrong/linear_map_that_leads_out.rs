//! A linear map whose last threads have elements of the next block.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<32, 8>, mut to: MatrixMut<u32, Linear<32, 32, 1, 160, 32>>) {
    to.write(&block, |_, (y, x)| (y + x) as u32);
}

fn main() {}
