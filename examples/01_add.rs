//! A kernel and its launch: the sum of two arrays.
use warpsmith::prelude::*;

#[warpsmith::device]
mod kernels {
    use warpsmith::kernel::*;

    #[kernel]
    pub fn add(block: Block<256>, a: &[f32], b: &[f32], mut sum: SliceMut<f32>) {
        sum.write(&block, |_, i| a[i] + b[i]);
    }
}

fn main() -> warpsmith::Result<()> {
    let device = Device::from_environment()?;
    let (a, b) = (device.upload(&[1.0f32; 1000])?, device.upload(&[2.0f32; 1000])?);
    let mut sum = device.zeroed::<f32>(1000)?;
    device.scope(|scope| scope.launch(kernels::add, (&a, &b, &mut sum)))?;
    println!("{:?}", &device.download(&sum)?[..4]);
    Ok(())
}
