//! An iterator waits at each step, and threads take different numbers of steps.

use blockwise::prelude::*;

struct Steps<'a> {
    block: &'a Block<256>,
    left: u32,
}

impl Iterator for Steps<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        self.left = self.left.checked_sub(1)?;
        self.block.each(|_| 0);
        Some(1)
    }
}

#[kernel]
pub fn wrong(block: Block<256>, mut to: SliceMut<u32>) {
    to.write(&block, |t, _| Steps { block: &block, left: t.x() as u32 }.sum());
}

fn main() {}
