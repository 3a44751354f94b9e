//! A relation that asks a function, which could lie on one side.

use blockwise::prelude::*;

fn length(_: &[f32]) -> usize {
    0
}

#[kernel]
#[requires(length(a) == sum.len())]
pub fn wrong(block: Block<256>, factor: u32, a: &[f32], mut sum: SliceMut<f32>) {
    sum.write(&block, |_, i| a[i]);
}

fn main() {}
