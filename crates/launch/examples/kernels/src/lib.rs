//! The kernel of the example `saxpy`.
#![no_std]

use cuda_std::prelude::*;

/// `y += a * x`, a thread for each element.
///
/// # Safety
/// `y` has as many elements as `x`.
#[kernel]
pub unsafe fn saxpy(a: f32, x: &[f32], y: *mut f32) {
    let i = thread::index_1d() as usize;
    if let Some(x) = x.get(i) {
        // SAFETY: `i` is below both lengths, and this thread's alone.
        unsafe { *y.add(i) += a * x };
    }
}
