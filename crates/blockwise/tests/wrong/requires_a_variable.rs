//! A name that is neither a parameter's nor a constant's.

use blockwise::prelude::*;

#[kernel]
#[requires(a.len() <= limit)]
pub fn wrong(block: Block<256>, a: &[f32], mut sum: SliceMut<f32>) {
    sum.write(&block, |_, i| a[i]);
}

fn main() {}
