//! A closure keeps the thread that it was made by, and would be asked at the level of the block.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<256>) {
    let who = block.each(|t| move || t.x());
}

fn main() {}
