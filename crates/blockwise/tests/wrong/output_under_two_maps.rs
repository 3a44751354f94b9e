//! An output divided in two ways.

use blockwise::prelude::*;

fn turned(block: &Block<16, 16>, out: &mut MatrixMut<f32, Mirrored<16, 16>>) {
    out.write(block, |_, _| 0.0);
}

#[kernel]
pub fn wrong(block: Block<16, 16>, mut out: MatrixMut<f32, Tiles<16, 16>>) {
    turned(&block, &mut out);
}

fn main() {}
