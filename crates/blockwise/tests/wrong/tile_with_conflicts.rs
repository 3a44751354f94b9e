//! The kernel says that its tile has no bank conflicts, and its columns lie in one bank each.

use blockwise::prelude::*;

type Turned = Tile<f32, 32, 32>;

/// Thread x reads row x.
const COLUMNS: Walk = Walk { from: [0, 0], along_x: [1, 0], along_y: [0, 1] };
const _: () = assert!(Turned::conflict_degree::<32, 8>(COLUMNS) == 1, "lanes meet in banks");

#[kernel]
pub fn wrong(block: Block<32, 8>, #[shared] tile: Turned, mut to: MatrixMut<f32, Mirrored<32, 32>>) {
    let tile = block.share(tile.fill(&block, |_, (y, x)| (y + x) as f32));
    to.write(&block, |_, (y, x)| tile.at(x, y));
}

fn main() {}
