//! A union, of which host and device could mean different fields.

use blockwise::prelude::*;

#[derive(Clone, Copy, DeviceCopy)]
pub union Either {
    number: u32,
    truth: bool,
}

fn main() {}
