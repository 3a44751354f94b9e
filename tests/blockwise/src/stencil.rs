//! A tile with a rim: each thread reads its neighbours' elements.
#![forbid(unsafe_code)]

use blockwise::prelude::*;

/// The mean of each element and its four neighbours; what is outside counts as zero.
#[kernel]
pub fn safe_stencil(
    block: Block<16, 16>,
    #[shared] tile: Tile<f32, 18, 18>,
    from: Matrix<f32>,
    mut to: MatrixMut<f32, Tiles<16, 16>>,
) {
    let (row, col) = (block.y() * 16, block.x() * 16);
    let filled = tile.fill(&block, |_, (y, x)| {
        // Before row or column 0 there is the largest number, which is outside, too.
        from.get_or((row + y).wrapping_sub(1), (col + x).wrapping_sub(1), 0.0)
    });
    let tile = block.share(filled);
    to.write(&block, |_, (y, x)| {
        (tile.at(y + 1, x + 1)
            + tile.at(y, x + 1)
            + tile.at(y + 2, x + 1)
            + tile.at(y + 1, x)
            + tile.at(y + 1, x + 2))
            / 5.0
    });
}

/// Sums over windows whose length the launch chooses, as long as the part of a block and the window after it.
#[kernel]
#[requires(x.len() == sums.len())]
pub fn safe_windows(
    block: Block<256>,
    #[shared] memory: Dynamic<f32>,
    window: u32,
    x: &[f32],
    mut sums: SliceMut<f32>,
) {
    let (first, window) = (block.x() * 256, window as usize);
    let (tile, _) = memory.tile(1, 256 + window);
    let filled = tile.fill(&block, |_, (_, i)| x.get(first + i).copied().unwrap_or(0.0));
    let tile = block.share(filled);
    sums.write(&block, |t, _| {
        let mut sum = 0.0;
        for x in tile.along(0).skip(t.x()).take(window) {
            sum += x;
        }
        sum
    });
}
