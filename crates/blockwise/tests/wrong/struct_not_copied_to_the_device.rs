//! A struct that holds an address.

use blockwise::prelude::*;

#[derive(Clone, Copy, DeviceCopy)]
pub struct Link {
    next: &'static u32,
}

#[kernel]
pub fn wrong(block: Block<256>, links: &[Link], mut out: SliceMut<u32>) {
    out.write(&block, |_, i| *links[i].next);
}

fn main() {}
