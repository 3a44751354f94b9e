//! The block in a generic closure.

use blockwise::prelude::*;

fn waiter<'a>(block: &'a Block<16, 16>) -> impl Fn() + 'a {
    move || {
        block.each(|_| 0);
    }
}

#[kernel]
pub fn wrong(block: Block<16, 16>) {
    let wait = waiter(&block);
    block.each(|_| wait());
}

fn main() {}
