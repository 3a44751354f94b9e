//! Copies from global to shared memory that run while the thread goes on (`cp.async`, from `compute_80`).
//!
//! A thread issues copies, closes them into a group with [`cp_async_commit_group`], and waits with
//! [`cp_async_wait_group`] until at most so many of its youngest groups are still on the way. The wait covers the
//! thread's own copies only: a barrier must follow before other threads read them.

use crate::ptx;

macro_rules! copy {
    ($cache:literal, $bytes:literal, $dst:ident, $src:ident) => {
        // SAFETY: the caller's promise is the instruction's own.
        unsafe { ptx!(
            "{{",
            ".reg .u64 to, from;",
            "cvta.to.shared.u64 to, {dst};",
            "cvta.to.global.u64 from, {src};",
            concat!("cp.async.", $cache, ".shared.global [to], [from], ", $bytes, ";"),
            "}}",
            dst = in(ptr) $dst, src = in(ptr) $src) }
    };
}

/// Starts to copy a `T` of 4, 8 or 16 bytes, through both L1 and L2.
///
/// # Safety
///
/// `dst` must point into shared memory and `src` into global memory, both aligned to the size of `T` and valid until
/// the copy has been waited for; nothing else may touch `dst` until then.
#[inline(always)]
pub unsafe fn cp_async_ca<T>(dst: *mut T, src: *const T) {
    const { assert!(matches!(size_of::<T>(), 4 | 8 | 16), "cp.async copies 4, 8 or 16 bytes") }
    match size_of::<T>() {
        4 => copy!("ca", "4", dst, src),
        8 => copy!("ca", "8", dst, src),
        _ => copy!("ca", "16", dst, src),
    }
}

/// Starts to copy a `T` of 16 bytes through L2 alone: for data that is read once and would only displace other data
/// from L1.
///
/// # Safety
///
/// As [`cp_async_ca`].
#[inline(always)]
pub unsafe fn cp_async_cg<T>(dst: *mut T, src: *const T) {
    const { assert!(size_of::<T>() == 16, "cp.async past L1 copies 16 bytes") }
    copy!("cg", "16", dst, src);
}

/// Closes the copies that this thread issued since the last call into a group.
#[inline(always)]
pub fn cp_async_commit_group() {
    // SAFETY: the instruction has no precondition.
    unsafe { ptx!("cp.async.commit_group;") };
}

/// Waits until at most the `N` youngest groups of this thread are still on the way.
#[inline(always)]
pub fn cp_async_wait_group<const N: u32>() {
    // SAFETY: the instruction has no precondition.
    unsafe { ptx!("cp.async.wait_group {n};", n = imm(N)) };
}

/// Waits for all copies of this thread, whether in a group or not.
#[inline(always)]
pub fn cp_async_wait_all() {
    // SAFETY: the instruction has no precondition.
    unsafe { ptx!("cp.async.wait_all;") };
}
