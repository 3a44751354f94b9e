//! Ownership by linear maps: what a thread has of a part is said by three constants, and bank conflicts are asserted.
#![forbid(unsafe_code)]

use blockwise::prelude::*;

/// Sums of each 1024 elements so far: loaded in order, added up by threads that have four neighbours each, stored in order again
/// (CUB's "BlockLoad" and "BlockScan", transposed through shared memory).
#[kernel]
#[requires(x.len() == sums.len())]
pub fn safe_sums_by_fours(
    block: Block<256>,
    #[shared] mut scratch: Scratch<u32>,
    #[shared] tile: Tile<u32, 256, 4, Padded<1>>,
    x: &[u32],
    mut sums: SliceMut<u32, Part<1024>>,
) {
    const FIRST_OF_EACH: Walk = Walk { from: [0, 0], along_x: [1, 0], along_y: [0, 0] };
    const { assert!(Fours::conflict_degree::<256, 1>(FIRST_OF_EACH) == 1) }
    let first = 1024 * block.x();
    let of = |i: usize| x.get(first + i).copied().unwrap_or(0);
    let loaded = block.share(tile.fill(&block, |_, (four, i)| of(4 * four + i)));
    let own = block.each(|t| [0, 1, 2, 3].map(|i| loaded.at(t.x(), i)));
    let sum = block.each(|t| own.of(t).iter().sum());
    let before = block.scan(&mut scratch, &sum, 0, |a, b| a + b).exclusive;
    // The map gives each thread the four again that it has added up.
    let summed = block.reuse(loaded).fill_by(Linear::<256, 4, 4, 0, 1>, &block, |t, (_, i)| {
        before.of(t) + own.of(t)[..=i].iter().sum::<u32>()
    });
    let summed = block.share(summed);
    sums.write(&block, |_, i| summed.at((i - first) / 4, i % 4));
}

type Fours = Tile<u32, 256, 4, Padded<1>>;

/// A transpose in which a thread has four neighbours of a column, in the tile and in the result.
#[kernel]
#[requires(from.rows() == to.cols(), from.cols() == to.rows())]
pub fn safe_transpose_by_columns(
    block: Block<32, 8>,
    #[shared] tile: Turned,
    from: Matrix<f32>,
    mut to: MatrixMut<f32, Linear<32, 32, 1, 128, 32>>,
) {
    const ALONG: Walk = Walk { from: [0, 0], along_x: [0, 1], along_y: [4, 0] };
    const DOWN: Walk = Walk { from: [0, 0], along_x: [1, 0], along_y: [0, 4] };
    const { assert!(Turned::conflict_degree::<32, 8>(ALONG) == 1 && Turned::conflict_degree::<32, 8>(DOWN) == 1) }
    let (row, col) = (block.x() * 32, block.y() * 32);
    let filled =
        tile.fill_by(Linear::<32, 32, 1, 128, 32>, &block, |_, (y, x)| from.get_or(row + y, col + x, 0.0));
    let tile = block.share(filled);
    to.write(&block, |_, (y, x)| tile.at(x, y));
}

type Turned = Tile<f32, 32, 32, Padded<1>>;
