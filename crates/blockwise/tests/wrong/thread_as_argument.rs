//! A thread that is promised to live on.

use blockwise::prelude::*;

fn keep(t: Thread<'static, 16, 16>) -> usize {
    t.x()
}

#[kernel]
pub fn wrong(block: Block<16, 16>) {
    block.each(keep);
}

fn main() {}
