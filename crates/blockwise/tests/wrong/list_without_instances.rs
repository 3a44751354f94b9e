//! A list without instances, two that would have one name, and two lists.

use blockwise::prelude::*;

#[kernel(T = [])]
pub fn wrong<T: DeviceCopy>(block: Block<256>, mut y: SliceMut<T>) {
    let _ = (block, y);
}

#[kernel(T = [u32, core::primitive::u32])]
pub fn twice<T: DeviceCopy>(block: Block<256>, mut y: SliceMut<T>) {
    let _ = (block, y);
}

#[kernel(T = [u32], (N, T) = [(1, u32)])]
pub fn two_lists<T: DeviceCopy, const N: usize>(block: Block<256>, mut y: SliceMut<T>) {
    let _ = (block, y);
}

#[kernel(T = [f32])]
pub fn of_a_trait<T: core::ops::Add>(block: Block<256>, x: &[T::Output]) {
    let _ = (block, x);
}

fn main() {}
