//! The same of an output.

use blockwise::prelude::*;

#[derive(Clone, Copy, DeviceCopy)]
#[repr(align(512))]
pub struct Page(u32);

#[kernel]
pub fn wrong(block: Block<256>, mut pages: SliceMut<Page>) {
    pages.write(&block, |_, i| Page(i as u32));
}

fn main() {}
