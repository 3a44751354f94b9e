//! Elements that are aligned to more than the memory of a buffer is.

use blockwise::prelude::*;

#[derive(Clone, Copy, DeviceCopy)]
#[repr(align(512))]
pub struct Page(u32);

#[kernel]
pub fn wrong(block: Block<256>, pages: &[Page], mut out: SliceMut<u32>) {
    out.write(&block, |_, i| pages[i].0);
}

fn main() {}
