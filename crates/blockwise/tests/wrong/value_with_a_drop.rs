//! A value whose end is code of the block.

use blockwise::prelude::*;

struct Guard(usize);
impl Drop for Guard {
    fn drop(&mut self) {}
}

#[kernel]
pub fn wrong(block: Block<16, 16>) {
    block.each(|t| Guard(t.x()));
}

fn main() {}
