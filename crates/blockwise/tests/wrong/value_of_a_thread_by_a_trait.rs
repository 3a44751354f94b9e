//! A trait of one's own makes a number of a thread, and the block would go by it.

use blockwise::prelude::*;

trait Number {
    type Number: Copy + Send + Sync + 'static;
    fn number(self) -> Self::Number;
}

impl Number for Thread<'_, 256> {
    type Number = usize;
    fn number(self) -> usize {
        self.x()
    }
}

#[kernel]
pub fn wrong(block: Block<256>) {
    let number = block.each(|t| t.number());
    if number > 3 {
        block.each(|_| 0);
    }
}

fn main() {}
