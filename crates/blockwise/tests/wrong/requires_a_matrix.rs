//! A relation about a matrix itself, not about its extents.

use blockwise::prelude::*;

#[kernel]
#[requires(a <= sum.len() + offset)]
pub fn wrong(block: Block<256>, offset: u32, a: Matrix<f32>, mut sum: SliceMut<f32>) {
    sum.write(&block, |_, i| a.at(0, i + offset as usize));
}

fn main() {}
