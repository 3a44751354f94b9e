//! Both would be the same memory.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<256>, #[shared] a: Dynamic<f32>, #[shared] b: Dynamic<u32>) {
    let (a, _) = a.tile(1, 256);
    let (b, _) = b.tile(1, 256);
    let shared = block.share((a.fill(&block, |_, _| 0.0), b.fill(&block, |_, _| 0)));
}

fn main() {}
