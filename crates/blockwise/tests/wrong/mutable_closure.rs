//! A closure that changes what it holds.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>) {
    let mut calls = 0;
    let count = move |_: Thread<16, 16>| {
        calls += 1;
        calls
    };
    block.each(count);
}

fn main() {}
