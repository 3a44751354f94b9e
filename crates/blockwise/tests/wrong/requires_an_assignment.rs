//! A relation that is none.

use blockwise::prelude::*;

#[kernel]
#[requires(a.len() = sum.len())]
pub fn wrong(block: Block<256>, factor: u32, a: &[f32], mut sum: SliceMut<f32>) {
    sum.write(&block, |_, i| a[i]);
}

fn main() {}
