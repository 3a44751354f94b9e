//! A row for each block: what is computed of the whole row goes into each of its elements.

use warpsmith::prelude::*;

#[warpsmith::device]
mod kernels {
    use warpsmith::kernel::*;

    /// exp(x) / Σ exp(x) in each row, the row's maximum taken off first.
    #[kernel]
    #[requires(x.rows() == y.rows(), x.cols() == y.cols())]
    pub fn softmax(
        block: Block<128>,
        #[shared] mut scratch: Scratch<f32>,
        x: Matrix<f32>,
        mut y: MatrixMut<f32, Rows>,
    ) {
        let row = x.row(block.x());
        let own = block.each(|t| row.iter().skip(t.index()).step_by(128).copied().fold(f32::MIN, f32::max));
        let most = block.reduce(&mut scratch, &own, f32::max);
        let own = block.each(|t| {
            let exps = row.iter().skip(t.index()).step_by(128).map(|x| GpuFloat::exp(x - most));
            exps.fold(0.0, |sum, exp| sum + exp)
        });
        let sum = block.reduce(&mut scratch, &own, |a, b| a + b);
        y.write(&block, |_, col| GpuFloat::exp(row[col] - most) / sum);
    }
}

fn main() -> warpsmith::Result<()> {
    let (rows, cols) = (10, 300);
    let elements: Vec<f32> = (0..rows * cols).map(|i| (i % 11) as f32).collect();
    let device = Device::from_environment()?;
    let x = device.upload_matrix(&elements, rows, cols)?;
    let mut y = device.upload_matrix(&vec![0.0f32; rows * cols], rows, cols)?;
    device.scope(|scope| scope.launch(kernels::softmax, (&x, &mut y)))?;
    let shares = device.download(&y)?;
    for (x, y) in elements.chunks(cols).zip(shares.chunks(cols)) {
        let sum: f64 = x.iter().map(|x| f64::from(*x).exp()).sum();
        for (x, y) in x.iter().zip(y) {
            assert!((f64::from(*x).exp() / sum - f64::from(*y)).abs() < 1e-6);
        }
    }
    println!("{:?} …", &shares[..3]);
    Ok(())
}
