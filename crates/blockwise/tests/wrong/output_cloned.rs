//! An output cloned.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, mut out: SliceMut<f32>) {
    let mut other = out.clone();
    out.write(&block, |_, _| 0.0);
    other.write(&block, |_, _| 1.0);
}

fn main() {}
