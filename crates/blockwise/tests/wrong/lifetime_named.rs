//! A kernel that names a lifetime.

use blockwise::prelude::*;

#[kernel]
pub fn wrong<'a>(block: Block<16, 16>, x: &'a [f32]) {
    block.each(|_| x[0]);
}

fn main() {}
