//! Lists of what the kernel has not.

use blockwise::prelude::*;

#[kernel(T = [f32, u32], EDGES = [16])]
pub fn wrong<T: DeviceCopy>(block: Block<256>, x: &[T], mut y: SliceMut<T>) {
    y.write(&block, |_, i| x[i]);
}

#[kernel(T = [f32, u32])]
pub fn not_generic(block: Block<256>, mut y: SliceMut<f32>) {
    y.write(&block, |_, _| 1.0);
}

fn main() {}
