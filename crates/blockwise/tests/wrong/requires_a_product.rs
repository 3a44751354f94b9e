//! A side that is more than a sum.

use blockwise::prelude::*;

#[kernel]
#[requires(a.len() == 2 * sum.len())]
pub fn wrong(block: Block<256>, a: &[f32], mut sum: SliceMut<f32>) {
    sum.write(&block, |_, i| a[2 * i]);
}

fn main() {}
