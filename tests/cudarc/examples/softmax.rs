//! A kernel of one's own in a program on cudarc.

use cudarc_019::driver::CudaContext; // in your program: cudarc::driver::CudaContext
use warpsmith::launch::cudarc::v019::{device, read, write};

#[warpsmith::device]
mod kernels {
    use warpsmith::kernel::*;

    /// exp(x) / Σ exp(x) in each row.
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
        let exps = |t: usize| row.iter().skip(t).step_by(128).map(|x| GpuFloat::exp(x - most));
        let own = block.each(|t| exps(t.index()).fold(0.0, |sum, exp| sum + exp));
        let sum = block.reduce(&mut scratch, &own, |a, b| a + b);
        y.write(&block, |_, col| GpuFloat::exp(row[col] - most) / sum);
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let stream = CudaContext::new(0)?.default_stream();
    let x = stream.clone_htod(&[0.5f32; 8 * 1000])?;
    let mut y = stream.alloc_zeros::<f32>(8 * 1000)?;

    let device = device(&stream)?; // keep it: modules are loaded once for each
    {
        let (from, mut to) = (read(&device, &x)?, write(&device, &mut y)?);
        let (from, to) = (from.as_matrix(8, 1000)?, to.reborrow().into_matrix(8, 1000)?);
        device.scope(|scope| scope.launch(kernels::softmax, (from, to)))?;
    }
    let y = stream.clone_dtoh(&y)?;
    assert!(y.iter().all(|y| (y - 0.001).abs() < 1e-7));
    println!("{:?} …", &y[..3]);
    Ok(())
}
