//! Several launches in one scope: sums of all elements before each one, of any length.

use warpsmith::prelude::*;

#[warpsmith::device]
mod kernels {
    use warpsmith::kernel::*;

    /// The sums before each element within its part of 256, and the parts' totals.
    #[kernel]
    pub fn scan(
        block: Block<256>,
        #[shared] mut scratch: Scratch<u32>,
        x: &[u32],
        mut sums: SliceMut<u32, Part<256>>,
        mut totals: SliceMut<u32, Part<1>>,
    ) {
        let first = 256 * block.x();
        let values = block.each(|t| x.get(first + t.index()).copied().unwrap_or(0));
        let scan = block.scan(&mut scratch, &values, 0, |a, b| a + b);
        sums.write(&block, |t, _| scan.exclusive.of(t));
        totals.write(&block, |_, _| scan.total);
    }

    /// Adds to each part what came before it.
    #[kernel]
    pub fn add_before(block: Block<256>, before: &[u32], mut sums: SliceMut<u32, Part<256>>) {
        let before = before[block.x()];
        sums.update(&block, |_, _, sum| sum + before);
    }
}

fn main() -> warpsmith::Result<()> {
    let numbers: Vec<u32> = (0..10_000).map(|i| i % 9).collect();
    let parts = numbers.len().div_ceil(256);
    let device = Device::from_environment()?;
    let x = device.upload(&numbers)?;
    let mut sums = device.zeroed::<u32>(numbers.len())?;
    let (mut totals, mut before, mut all) =
        (device.zeroed::<u32>(parts)?, device.zeroed::<u32>(parts)?, device.zeroed::<u32>(1)?);
    device.scope(|scope| scope.launch(kernels::scan, (&x, &mut sums, &mut totals)))?;
    device.scope(|scope| scope.launch(kernels::scan, (&totals, &mut before, &mut all)))?;
    device.scope(|scope| scope.launch(kernels::add_before, (&before, &mut sums)))?;
    let mut sum = 0;
    for (number, before) in numbers.iter().zip(device.download(&sums)?) {
        assert_eq!(before, sum);
        sum += number;
    }
    assert_eq!(device.download(&all)?, [sum]);
    println!("{sum}");
    Ok(())
}
