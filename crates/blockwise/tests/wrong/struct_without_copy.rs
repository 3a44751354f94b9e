//! A struct that is not `Copy`, by value and as elements.

use blockwise::prelude::*;

pub struct Range {
    first: u32,
    len: u32,
}

#[kernel]
pub fn wrong(block: Block<256>, whole: Range, parts: &[Range], mut out: SliceMut<u32>) {
    out.write(&block, |_, i| parts[i].first + whole.first.min(whole.len));
}

fn main() {}
