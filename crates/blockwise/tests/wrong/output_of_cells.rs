//! A slice of cells.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, out: &[core::cell::Cell<f32>]) {
    out[0].set(1.0);
    drop(block);
}

fn main() {}
