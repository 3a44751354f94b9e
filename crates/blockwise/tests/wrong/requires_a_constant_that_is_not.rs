//! A constant that there is not.

use blockwise::prelude::*;

#[kernel]
#[requires(a.len() <= LIMIT)]
pub fn wrong(block: Block<256>, a: &[f32], mut sum: SliceMut<f32>) {
    sum.write(&block, |_, i| a[i]);
}

fn main() {}
