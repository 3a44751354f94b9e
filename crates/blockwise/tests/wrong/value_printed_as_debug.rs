//! A value of the threads formatted into a text.

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>) {
    let count = block.each(|t| t.x());
    let _text = format_args!("{count:?}").as_str();
}

fn main() {}
