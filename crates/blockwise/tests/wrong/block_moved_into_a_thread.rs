//! The block moved into a thread.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>) {
    let other = Some(0);
    drop(other);
    PerThread::update(&mut block.each(|_| 0), &block, move |_, _| {
        let _mine = &block;
    });
}

fn main() {}
