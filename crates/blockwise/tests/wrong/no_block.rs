//! A kernel without its block.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(x: &[f32], mut out: SliceMut<f32>) {
    out.write(&x, |_, i| x[i]);
}

fn main() {}
