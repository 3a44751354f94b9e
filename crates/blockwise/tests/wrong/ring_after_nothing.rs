//! Begins after copies that have not begun themselves: the wait for them would not wait.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<32, 8>, #[shared] a: Tile<f32, 8, 32>, #[shared] b: Tile<f32, 8, 32>, x: Matrix<f32>) {
    let a = a.copy_fours(&block, &x, |_, at| at);
    let b = b.copy_fours(&block, &x, |_, at| at);
    let (_, a) = block.commit_after(b, a);
    block.share(a);
}

fn main() {}
