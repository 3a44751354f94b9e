//! `unsafe` where it is forbidden.

#![forbid(unsafe_code)]

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<16, 16>, out: *mut f32) {
    block.each(|_| 0);
    unsafe { *out = 0.0 };
}

fn main() {}
