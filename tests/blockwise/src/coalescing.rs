//! Which bytes the lanes of a warp ask for at once.
#![forbid(unsafe_code)]

use blockwise::prelude::*;

/// From an offset on: a warp's bytes may begin within a sector.
#[kernel]
#[requires(from.len() >= to.len() + offset)]
pub fn safe_offset(block: Block<256>, offset: u32, from: &[f32], mut to: SliceMut<f32>) {
    to.write(&block, |_, i| from[i + offset as usize]);
}

/// Every `stride`th element, around the end.
#[kernel]
pub fn safe_stride(block: Block<256>, stride: u32, from: &[f32], mut to: SliceMut<f32>) {
    to.write(&block, |_, i| from[i * stride as usize % from.len()]);
}

/// Lanes whose bit in the mask is clear ask for nothing, and write nothing.
#[kernel]
#[requires(from.len() >= to.len())]
pub fn safe_missing_lanes(block: Block<256>, mask: u32, from: &[f32], mut to: SliceMut<f32>) {
    to.write_some(&block, |t, i| (mask >> (t.index() % 32) & 1 == 1).then(|| from[i]));
}

/// 4 bytes a thread.
#[kernel]
#[requires(from.len() == to.len())]
pub fn safe_copy_4_bytes(block: Block<256>, from: &[f32], mut to: SliceMut<f32>) {
    to.write(&block, |_, i| from[i]);
}

/// 8 bytes a thread.
#[kernel]
#[requires(from.len() == to.len())]
pub fn safe_copy_8_bytes(block: Block<256>, from: &[u64], mut to: SliceMut<u64>) {
    to.write(&block, |_, i| from[i]);
}

/// 16 bytes a thread.
#[kernel]
#[requires(from.len() == to.len())]
pub fn safe_copy_16_bytes(block: Block<256>, from: &[u128], mut to: SliceMut<u128>) {
    to.write(&block, |_, i| from[i]);
}
