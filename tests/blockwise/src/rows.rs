//! A row for each block: what is computed of the whole row goes into each of its elements.
#![forbid(unsafe_code)]

use blockwise::prelude::*;

/// exp(x) / Σ exp(x) in each row, the row's maximum taken off first.
#[kernel]
#[requires(x.rows() == y.rows(), x.cols() == y.cols())]
pub fn safe_softmax(
    block: Block<128>,
    #[shared] mut scratch: Scratch<f32>,
    x: Matrix<f32>,
    mut y: MatrixMut<f32, Rows>,
) {
    let row = x.row(block.x());
    let most = each_of_row(&block, row, f32::NEG_INFINITY, |most, x| most.max(x));
    let most = block.reduce(&mut scratch, &most, f32::max);
    let sum = each_of_row(&block, row, 0.0, |sum, x| sum + GpuFloat::exp(x - most));
    let sum = block.reduce(&mut scratch, &sum, |a, b| a + b);
    y.write(&block, |_, col| GpuFloat::exp(row[col] - most) / sum);
}

/// (x - mean) / √(variance + ε) in each row.
#[kernel]
#[requires(x.rows() == y.rows(), x.cols() == y.cols())]
pub fn safe_layer_norm(
    block: Block<128>,
    #[shared] mut scratch: Scratch<f32>,
    epsilon: f32,
    x: Matrix<f32>,
    mut y: MatrixMut<f32, Rows>,
) {
    let (row, cols) = (x.row(block.x()), x.cols() as f32);
    let sum = each_of_row(&block, row, 0.0, |sum, x| sum + x);
    let mean = block.reduce(&mut scratch, &sum, |a, b| a + b) / cols;
    let squares = each_of_row(&block, row, 0.0, |sum, x| sum + (x - mean) * (x - mean));
    let variance = block.reduce(&mut scratch, &squares, |a, b| a + b) / cols;
    let scale = 1.0 / GpuFloat::sqrt(variance + epsilon);
    y.write(&block, |_, col| (row[col] - mean) * scale);
}

/// Each thread's part of a row.
#[inline(always)]
fn each_of_row(
    block: &Block<128>,
    row: &[f32],
    start: f32,
    combine: impl Fn(f32, f32) -> f32 + Sync,
) -> PerThread<f32> {
    block.each(|t| {
        let (mut value, mut col) = (start, t.index());
        while col < row.len() {
            value = combine(value, row[col]);
            col += 128;
        }
        value
    })
}
