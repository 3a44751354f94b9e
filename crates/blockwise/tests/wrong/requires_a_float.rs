//! A constant that is no unsigned number.

use blockwise::prelude::*;

const LIMIT: f32 = 12.5;

#[kernel]
#[requires(a.len() <= LIMIT)]
pub fn wrong(block: Block<256>, a: &[f32], mut sum: SliceMut<f32>) {
    sum.write(&block, |_, i| a[i]);
}

fn main() {}
