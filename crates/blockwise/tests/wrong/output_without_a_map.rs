//! An output whose map is no map.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, mut out: MatrixMut<f32, u32>) {
    out.write(&block, |_, _| 0.0);
}

fn main() {}
