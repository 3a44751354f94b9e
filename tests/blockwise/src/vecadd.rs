//! One thread an element.

use blockwise::prelude::*;

/// `sum[i] = a[i] + b[i]`
#[kernel]
#[requires(a.len() == sum.len(), b.len() == sum.len())]
pub fn safe_vecadd(block: Block<256>, a: &[f32], b: &[f32], mut sum: SliceMut<f32>) {
    sum.write(&block, |_, i| a[i] + b[i]);
}
