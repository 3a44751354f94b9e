//! Points of 12 bytes, apart by coordinate and back: loaded and stored in order, turned in shared memory.
#![forbid(unsafe_code)]

use blockwise::prelude::*;

/// x, y, z of each point, each in a slice of its own.
#[kernel]
pub fn safe_points_to_arrays(
    block: Block<256>,
    #[shared] tile: Tile<f32, 1, 768>,
    points: &[f32],
    mut x: SliceMut<f32>,
    mut y: SliceMut<f32>,
    mut z: SliceMut<f32>,
) {
    let first = 768 * block.x();
    let tile = block.share(tile.fill(&block, |_, (_, i)| points.get(first + i).copied().unwrap_or(0.0)));
    x.write(&block, |t, _| tile.at(0, 3 * t.index()));
    y.write(&block, |t, _| tile.at(0, 3 * t.index() + 1));
    z.write(&block, |t, _| tile.at(0, 3 * t.index() + 2));
}

/// The points of three slices of coordinates.
#[kernel]
pub fn safe_arrays_to_points(
    block: Block<256>,
    #[shared] tile: Tile<f32, 3, 256>,
    x: &[f32],
    y: &[f32],
    z: &[f32],
    mut points: SliceMut<f32, Part<768>>,
) {
    let first = 256 * block.x();
    let tile = block.share(tile.fill(&block, |_, (which, i)| {
        let from = if which == 0 {
            x
        } else if which == 1 {
            y
        } else {
            z
        };
        from.get(first + i).copied().unwrap_or(0.0)
    }));
    points.write(&block, |_, i| {
        let i = (i - 3 * first) % 768;
        tile.at(i % 3, i / 3)
    });
}
