//! A struct by the name of a number.

use blockwise::{Block, DeviceCopy, kernel};

#[derive(Clone, Copy, DeviceCopy)]
pub struct Words([::core::primitive::u32; 5]);
#[allow(non_camel_case_types)]
type u32 = Words;

#[kernel]
pub fn wrong(block: Block<256>, x: u32) {
    block.each(|_| x.0[0]);
}

fn main() {}
