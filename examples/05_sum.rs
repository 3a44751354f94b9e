//! Reduction: threads add up what lies a grid apart, and each block adds up its threads' sums.

use warpsmith::prelude::*;

#[warpsmith::device]
mod kernels {
    use warpsmith::kernel::*;

    /// A sum for each block.
    #[kernel]
    pub fn sums(
        block: Block<256>,
        #[shared] mut scratch: Scratch<f32>,
        x: &[f32],
        mut sums: SliceMut<f32, Part<1>>,
    ) {
        let (first, stride) = (256 * block.x(), 256 * block.grid()[0]);
        let own = block.each(|t| {
            let (mut sum, mut i) = (0.0, first + t.index());
            while i < x.len() {
                sum += x[i];
                i += stride;
            }
            sum
        });
        let sum = block.reduce(&mut scratch, &own, |a, b| a + b);
        sums.write(&block, |_, _| sum);
    }
}

fn main() -> warpsmith::Result<()> {
    let device = Device::from_environment()?;
    let x = device.upload(&vec![0.5f32; 100_000])?;
    // As many blocks as there are sums.
    let mut sums = device.zeroed::<f32>(32)?;
    device.scope(|scope| scope.launch(kernels::sums, (&x, &mut sums)))?;
    let sum: f32 = device.download(&sums)?.iter().sum();
    assert_eq!(sum, 50_000.0);
    println!("{sum}");
    Ok(())
}
