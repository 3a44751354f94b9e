//! Sums: a block's threads walk over the whole slice, then the block adds up what they found.
#![forbid(unsafe_code)]

use blockwise::prelude::*;

/// One sum a block, in strides of the grid.
#[kernel]
pub fn safe_sums(
    block: Block<256>,
    #[shared] mut scratch: Scratch<f32>,
    x: &[f32],
    mut sums: SliceMut<f32, Part<1>>,
) {
    let (first, stride) = (256 * block.x(), 256 * block.grid()[0]);
    let values = block.each(|t| {
        let (mut sum, mut i) = (0.0, first + t.index());
        while i < x.len() {
            sum += x[i];
            i += stride;
        }
        sum
    });
    let sum = block.reduce(&mut scratch, &values, |a, b| a + b);
    sums.write(&block, |_, _| sum);
}

/// y = A · x, a row for each block.
#[kernel]
#[requires(a.cols() == x.len())]
pub fn safe_matvec(
    block: Block<128>,
    #[shared] mut scratch: Scratch<f32>,
    a: Matrix<f32>,
    x: &[f32],
    mut y: SliceMut<f32, Part<1>>,
) {
    let row = block.x();
    let products = block.each(|t| {
        let (mut sum, mut col) = (0.0, t.index());
        while col < a.cols() {
            sum += a.get_or(row, col, 0.0) * x[col];
            col += 128;
        }
        sum
    });
    let sum = block.reduce(&mut scratch, &products, |a, b| a + b);
    y.write(&block, |_, _| sum);
}
