//! Shared memory: each block of 256 threads reverses its part of an array through a tile.

use warpsmith::prelude::*;

#[warpsmith::device]
mod kernels {
    use warpsmith::kernel::*;

    /// Reads and writes of global memory are contiguous; the turn happens in the tile. `share` waits until every thread has filled its
    /// element, and without it the tile cannot be read.
    #[kernel]
    #[requires(from.len() == to.len())]
    pub fn reverse(
        block: Block<256>,
        #[shared] tile: Tile<f32, 1, 256>,
        from: &[f32],
        mut to: SliceMut<f32>,
    ) {
        let first = block.x() * 256;
        let len = 256.min(from.len() - first);
        let filled = tile.fill(&block, |_, (_, i)| from.get(first + i).copied().unwrap_or(0.0));
        let tile = block.share(filled);
        to.write(&block, |t, _| tile.at(0, len - 1 - t.x()));
    }
}

fn main() -> warpsmith::Result<()> {
    let numbers: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let device = Device::from_environment()?;
    let from = device.upload(&numbers)?;
    let mut to = device.zeroed::<f32>(numbers.len())?;
    device.scope(|scope| scope.launch(kernels::reverse, (&from, &mut to)))?;
    let reversed = device.download(&to)?;
    let expected = numbers.chunks(256).flat_map(|part| part.iter().rev().copied());
    assert!(reversed.iter().copied().eq(expected));
    println!("{:?} … became {:?} …", &numbers[..3], &reversed[..3]);
    Ok(())
}
