//! One thread an element.
#![forbid(unsafe_code)]

use blockwise::prelude::*;

/// `sum[i] = a[i] + b[i]`
#[kernel]
#[requires(a.len() == sum.len(), b.len() == sum.len())]
pub fn safe_vecadd(block: Block<256>, a: &[f32], b: &[f32], mut sum: SliceMut<f32>) {
    sum.write(&block, |_, i| a[i] + b[i]);
}

/// `to[i] = i + number`, of which none is large: the sums of what is required are compared, too.
#[kernel]
#[requires(to.len() + number < 1000)]
pub fn safe_sum_of_numbers(block: Block<32>, number: usize, mut to: SliceMut<f32>) {
    to.write(&block, |_, i| (i + number) as f32);
}
