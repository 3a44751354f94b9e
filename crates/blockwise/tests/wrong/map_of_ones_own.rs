//! A map that gives an element to two blocks.

use blockwise::prelude::*;

pub enum Everything {}
impl blockwise::SliceMap for Everything {
    fn grid_requirement(_: usize, _: usize) -> blockwise::GridRequirement {
        [blockwise::BlockCount::Suggested(1); 3]
    }
}

#[kernel]
pub fn wrong(block: Block<16, 16>, mut out: SliceMut<f32, Everything>) {
    out.write(&block, |_, _| 0.0);
}

fn main() {}
