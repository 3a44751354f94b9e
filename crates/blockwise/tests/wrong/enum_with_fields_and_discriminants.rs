//! An enum whose discriminants are not compared.

use blockwise::prelude::*;

#[derive(Clone, Copy, DeviceCopy)]
#[repr(u8)]
pub enum Shape {
    Round(f32) = 3,
    Square = 1,
}

fn main() {}
