//! Takes the younger of two slots for the older one: the loop's next turn would read it while it fills.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<32, 8>, #[shared] a: Tile<f32, 8, 32>, #[shared] mut empty: Tile<f32, 8, 32>, x: Matrix<f32>) {
    let mut filling = block.commit(a.copy_fours(&block, &x, |_, at| at));
    for _ in 0..4 {
        let (next, current) = block.commit_after(empty.copy_fours(&block, &x, |_, at| at), filling);
        let full = block.share(next);
        empty = block.reuse(full);
        filling = current;
    }
}

fn main() {}
