//! An output read by another thread.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, mut out: SliceMut<f32>) {
    out.write(&block, |_, i| out[i + 1]);
}

fn main() {}
