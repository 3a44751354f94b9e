//! Atomics: many threads add to one place, first in shared memory, then once a block in global memory.

use warpsmith::prelude::*;

#[warpsmith::device]
mod kernels {
    use warpsmith::kernel::*;

    /// How often each byte occurs.
    #[kernel]
    #[requires(counts.len() >= 256)]
    pub fn histogram(
        block: Block<256>,
        #[shared] own: Tile<u32, 1, 256>,
        bytes: &[u8],
        counts: Counters<u32>,
    ) {
        let own = block.count(own.fill(&block, |_, _| 0));
        let (first, stride) = (256 * block.x(), 256 * block.grid()[0]);
        block.each(|t| {
            let mut i = first + t.index();
            while i < bytes.len() {
                own.add(t, (0, bytes[i] as usize), 1);
                i += stride;
            }
        });
        let own = block.share(own);
        block.each(|t| counts.add(t, t.index(), own.at(0, t.index())));
    }
}

fn main() -> warpsmith::Result<()> {
    let text = include_str!("06_histogram.rs");
    let device = Device::from_environment()?;
    let bytes = device.upload(text.as_bytes())?;
    let mut counts = device.zeroed::<u32>(256)?;
    // No output decides the grid here.
    let grid = LaunchOptions { grid: Some([4, 1, 1]), ..LaunchOptions::default() };
    device.scope(|scope| scope.launch_with(kernels::histogram, grid, (&bytes, &mut counts)))?;
    let counts = device.download(&counts)?;
    for (byte, count) in counts.iter().enumerate() {
        assert_eq!(*count as usize, text.bytes().filter(|other| *other as usize == byte).count());
    }
    println!("{} times `e`", counts[usize::from(b'e')]);
    Ok(())
}
