//! Copies from global to shared memory that overlap with computation (`cp.async`, from `compute_80`).
//!
//! A thread issues copies, commits them as a group with [`cp_async_commit_group`], and waits with
//! [`cp_async_wait_group`] until at most a given number of its most recent groups are still in flight. The wait covers
//! only the thread's own copies: a barrier must follow before other threads read the data.

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

/// Starts an asynchronous copy of a `T` of 4, 8 or 16 bytes, cached in L1 and L2.
///
/// # Safety
///
/// `dst` must point into shared memory and `src` into global memory, both aligned to the size of `T` and valid until
/// a wait has covered the copy; nothing else may touch `dst` until then.
#[inline(always)]
pub unsafe fn cp_async_ca<T>(dst: *mut T, src: *const T) {
    const { assert!(matches!(size_of::<T>(), 4 | 8 | 16), "cp.async copies 4, 8 or 16 bytes") }
    match size_of::<T>() {
        4 => copy!("ca", "4", dst, src),
        8 => copy!("ca", "8", dst, src),
        _ => copy!("ca", "16", dst, src),
    }
}

/// Starts an asynchronous copy of a `T` of 16 bytes, cached only in L2: for data that is read once and would only evict
/// other data from L1.
///
/// # Safety
///
/// As [`cp_async_ca`].
#[inline(always)]
pub unsafe fn cp_async_cg<T>(dst: *mut T, src: *const T) {
    const { assert!(size_of::<T>() == 16, "cp.async past L1 copies 16 bytes") }
    copy!("cg", "16", dst, src);
}

/// Commits the copies this thread issued since the last call as a group.
#[inline(always)]
pub fn cp_async_commit_group() {
    // SAFETY: the instruction has no precondition.
    unsafe { ptx!("cp.async.commit_group;") };
}

/// Waits until at most the `N` most recent groups of this thread are in flight.
#[inline(always)]
pub fn cp_async_wait_group<const N: u32>() {
    // SAFETY: the instruction has no precondition.
    unsafe { ptx!("cp.async.wait_group {n};", n = imm(N)) };
}

/// Waits for all copies of this thread, committed to a group or not.
#[inline(always)]
pub fn cp_async_wait_all() {
    // SAFETY: the instruction has no precondition.
    unsafe { ptx!("cp.async.wait_all;") };
}
