//! Kernels that name `glam` themselves, beside what `cuda_std` gives them of it.

use cuda_std::prelude::*;
use glam::{Mat4, Quat, UVec2, UVec3, Vec3, Vec4};

/// The indices are the kernels' own vectors.
#[kernel]
pub unsafe fn places(out: *mut UVec2, blocks: *mut UVec3) {
    let place: UVec2 = thread::index_2d();
    let block: UVec3 = thread::block_idx();
    unsafe {
        out.add(thread::index() as usize).write(place);
        blocks.add(thread::index() as usize).write(block);
    }
}

/// By value and by reference, through either crate.
#[kernel]
pub unsafe fn moves(points: &[Vec3], by: cuda_std::glam::Mat4, turn: Quat, out: *mut Vec4) {
    let i = thread::index_1d() as usize;
    if i < points.len() {
        let by: Mat4 = by;
        let moved = by.transform_point3(turn * points[i]);
        unsafe { out.add(i).write(moved.extend(moved.length())) };
    }
}
