//! The first kernel: one thread an element, `out[i] = a[i] + b[i]`.

use cuda_std::prelude::*;

listed! { vecadd }

/// Adds two arrays. Launch it with at least one thread an element; the last block may have threads left over.
///
/// # Safety
/// `out` must have room for as many elements as the shorter of `a` and `b`.
#[kernel]
pub unsafe fn vecadd(a: &[f32], b: &[f32], out: *mut f32) {
    let i = thread::index_1d() as usize;
    if i < a.len() && i < b.len() {
        // SAFETY: `i` is inside the shorter array, and no other thread has the same `i`.
        unsafe { *out.add(i) = a[i] + b[i] };
    }
}
