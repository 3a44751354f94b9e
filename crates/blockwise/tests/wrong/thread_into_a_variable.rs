//! A thread is kept in a variable.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>) {
    let mut kept = None;
    block.each(|t| kept = Some(t));
}

fn main() {}
