//! A macro of a name that the expansion of `#[kernel]` uses, which accepts everything.

use blockwise::prelude::*;

macro_rules! assert {
    ($($all:tt)*) => {
        ()
    };
}

#[kernel]
pub fn wrong(block: Block<256>, #[shared] a: Dynamic<f32>, #[shared] b: Dynamic<f32>) {
    let (a, _) = a.tile(1, 256);
    let (b, _) = b.tile(1, 256);
    let shared = block.share((a.fill(&block, |_, _| 0.0), b.fill(&block, |_, _| 1.0)));
}

fn main() {}
