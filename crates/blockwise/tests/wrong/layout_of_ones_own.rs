//! A layout that puts two elements in one place.

use blockwise::prelude::*;

pub struct Same;
impl blockwise::Layout<16, 16> for Same {
    const LEN: usize = 1;
    fn place(_: usize, _: usize) -> usize {
        0
    }
}

#[kernel]
pub fn wrong(block: Block<16, 16>, #[shared] tile: Tile<f32, 16, 16, Same>) {
    tile.fill(&block, |_, _| 0.0);
}

fn main() {}
