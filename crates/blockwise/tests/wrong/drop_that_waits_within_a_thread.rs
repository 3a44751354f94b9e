//! A value waits when it is dropped, which some threads do.

use blockwise::prelude::*;

struct Waits<'a>(&'a Block<256>);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.each(|_| 0);
    }
}

#[kernel]
pub fn wrong(block: Block<256>) {
    let waits = Waits(&block);
    block.each(|t| {
        if t.x() < 7 {
            drop(Waits(waits.0));
        }
    });
}

fn main() {}
