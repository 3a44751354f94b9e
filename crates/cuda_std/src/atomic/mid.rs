//! Atomic operations on raw pointers that take an [`Ordering`], and emulate it on GPUs too old to support it.
//!
//! From `compute_70` on, orderings are part of the instruction. A sequentially consistent operation is a `fence.sc`
//! followed by an acquire (load, read-modify-write) or relaxed (store) operation, the mapping that NVIDIA's own C++
//! library uses. Before `compute_70`, `membar`s around the plain instruction are at least as strong.
//!
//! `add` and `sub` of `f32` in global memory flush subnormals to zero.
//!
//! All work only on the GPU. The `unsafe` ones require that the pointer is valid and aligned to its type's size, and
//! that every thread that accesses the value at the same time does so atomically and within the scope.

use super::intrinsics;
use core::sync::atomic::Ordering::{self, *};
use pastey::paste;

/// Whether orderings are part of the instruction.
#[inline(always)]
fn has_orderings() -> bool {
    #[cfg(target_os = "cuda")]
    {
        crate::cfg::number() >= 700
    }
    #[cfg(not(target_os = "cuda"))]
    {
        true
    }
}

#[cold]
#[track_caller]
fn no_such_ordering() -> ! {
    panic!("this atomic operation cannot have that ordering")
}

macro_rules! fences {
    ($($scope:ident: $threads:literal;)*) => {$(paste! {
        #[doc = concat!("Orders this thread's memory accesses as seen by ", $threads, ". `Relaxed` does nothing.")]
        #[inline(always)]
        pub fn [<$scope _thread_fence>](ordering: Ordering) {
            // SAFETY: fences have no precondition.
            unsafe {
                match ordering {
                    Relaxed => {}
                    SeqCst if has_orderings() => intrinsics::[<fence_sc_ $scope>](),
                    _ if has_orderings() => intrinsics::[<fence_acqrel_ $scope>](),
                    _ => intrinsics::[<membar_ $scope>](),
                }
            }
        }
    })*};
}

fences! {
    block: "its block";
    device: "its GPU";
    system: "all GPUs and the host";
}

macro_rules! loads_and_stores {
    ($($type:ident $width:literal $scope:ident;)*) => {$(paste! {
        #[doc = concat!("Loads ", $width, " bits at ", stringify!($scope), " scope.")]
        ///
        /// # Panics
        ///
        /// If `ordering` is `Release` or `AcqRel`.
        ///
        /// # Safety
        ///
        /// See [the module](self).
        #[inline(always)]
        #[track_caller]
        pub unsafe fn [<atomic_load_ $width _ $scope>](ptr: *mut $type, ordering: Ordering) -> $type {
            if !matches!(ordering, Relaxed | Acquire | SeqCst) {
                no_such_ordering()
            }
            // SAFETY: the caller's promise is the one asked for.
            unsafe {
                if ordering == SeqCst {
                    [<$scope _thread_fence>](SeqCst);
                }
                match ordering {
                    Relaxed if has_orderings() => intrinsics::[<atomic_load_relaxed_ $width _ $scope>](ptr),
                    _ if has_orderings() => intrinsics::[<atomic_load_acquire_ $width _ $scope>](ptr),
                    _ => {
                        let value = intrinsics::[<atomic_load_volatile_ $width _ $scope>](ptr);
                        [<$scope _thread_fence>](ordering);
                        value
                    }
                }
            }
        }

        #[doc = concat!("Stores ", $width, " bits at ", stringify!($scope), " scope.")]
        ///
        /// # Panics
        ///
        /// If `ordering` is `Acquire` or `AcqRel`.
        ///
        /// # Safety
        ///
        /// See [the module](self).
        #[inline(always)]
        #[track_caller]
        pub unsafe fn [<atomic_store_ $width _ $scope>](ptr: *mut $type, ordering: Ordering, val: $type) {
            if !matches!(ordering, Relaxed | Release | SeqCst) {
                no_such_ordering()
            }
            // SAFETY: the caller's promise is the one asked for.
            unsafe {
                match ordering {
                    Release if has_orderings() => intrinsics::[<atomic_store_release_ $width _ $scope>](ptr, val),
                    _ if has_orderings() => {
                        [<$scope _thread_fence>](ordering);
                        intrinsics::[<atomic_store_relaxed_ $width _ $scope>](ptr, val);
                    }
                    _ => {
                        [<$scope _thread_fence>](ordering);
                        intrinsics::[<atomic_store_volatile_ $width _ $scope>](ptr, val);
                    }
                }
            }
        }
    })*};
}

loads_and_stores! {
    u32 32 block;
    u64 64 block;
    u32 32 device;
    u64 64 device;
    u32 32 system;
    u64 64 system;
}

/// The body of a read-modify-write operation: the intrinsic of `$op` for `$ordering`, or its emulation.
macro_rules! read_modify_write {
    ($op:ident $type:ident $scope:ident, $ordering:ident, $($argument:ident),*) => {
        paste! {{
            if $ordering == SeqCst {
                [<$scope _thread_fence>](SeqCst);
            }
            if has_orderings() {
                match $ordering {
                    Relaxed => intrinsics::[<atomic_fetch_ $op _relaxed_ $type _ $scope>]($($argument),*),
                    Release => intrinsics::[<atomic_fetch_ $op _release_ $type _ $scope>]($($argument),*),
                    AcqRel => intrinsics::[<atomic_fetch_ $op _acqrel_ $type _ $scope>]($($argument),*),
                    _ => intrinsics::[<atomic_fetch_ $op _acquire_ $type _ $scope>]($($argument),*),
                }
            } else {
                if matches!($ordering, Release | AcqRel) {
                    intrinsics::[<membar_ $scope>]();
                }
                let old = intrinsics::[<atomic_fetch_ $op _volatile_ $type _ $scope>]($($argument),*);
                if matches!($ordering, Acquire | AcqRel | SeqCst) {
                    intrinsics::[<membar_ $scope>]();
                }
                old
            }
        }}
    };
}

macro_rules! fetch {
    ($($op:ident $doc:literal: $($type:ident)*;)*) => {$($(
        fetch!(@scope $op $doc $type block);
        fetch!(@scope $op $doc $type device);
        fetch!(@scope $op $doc $type system);
    )*)*};
    (@scope $op:ident $doc:literal $type:ident $scope:ident) => {
        paste! {
            #[doc = concat!($doc, " the `", stringify!($type), "` and returns the value before, at ",
                stringify!($scope), " scope.")]
            ///
            /// # Safety
            ///
            /// See [the module](self).
            #[inline(always)]
            pub unsafe fn [<atomic_fetch_ $op _ $type _ $scope>](ptr: *mut $type, ordering: Ordering, val: $type) -> $type {
                // SAFETY: the caller's promise is the one asked for.
                unsafe { read_modify_write!($op $type $scope, ordering, ptr, val) }
            }
        }
    };
}

fetch! {
    and "Bitwise and of": u32 u64 i32 i64 f32 f64;
    or "Bitwise or of": u32 u64 i32 i64 f32 f64;
    xor "Bitwise exclusive or of": u32 u64 i32 i64 f32 f64;
    add "Adds to": u32 u64 i32 i64 f32 f64;
    sub "Subtracts from": u32 u64 i32 i64 f32 f64;
    min "The smaller of `val` and": u32 u64 i32 i64;
    max "The larger of `val` and": u32 u64 i32 i64;
    exch "Replaces": u32 u64 i32 i64 f32 f64;
}

macro_rules! compare_and_swap {
    ($($type:ident)*) => {$(
        compare_and_swap!(@scope $type block);
        compare_and_swap!(@scope $type device);
        compare_and_swap!(@scope $type system);
    )*};
    (@scope $type:ident $scope:ident) => {
        paste! {
            #[doc = concat!("Stores `new` if the `", stringify!($type), "` is `current`, bit for bit, and returns the \
                value before, at ", stringify!($scope), " scope.")]
            ///
            /// # Safety
            ///
            /// See [the module](self).
            #[inline(always)]
            pub unsafe fn [<atomic_compare_and_swap_ $type _ $scope>](
                ptr: *mut $type,
                current: $type,
                new: $type,
                ordering: Ordering,
            ) -> $type {
                // SAFETY: the caller's promise is the one asked for.
                unsafe { read_modify_write!(cas $type $scope, ordering, ptr, current, new) }
            }
        }
    };
}

compare_and_swap! { u32 u64 i32 i64 f32 f64 }

/// CUDA's `atomicInc`: counts up to `bound`, then wraps to 0; returns the previous value.
///
/// # Safety
///
/// See [the module](self).
#[inline(always)]
pub unsafe fn atomic_inc_bounded_relaxed_u32_device(ptr: *mut u32, bound: u32) -> u32 {
    let old: u32;
    // SAFETY: the caller's promise is the instruction's own.
    unsafe {
        crate::ptx!("atom.gpu.inc.u32 {old}, [{ptr}], {bound};",
            old = out(u32) old, ptr = in(ptr) ptr, bound = in(u32) bound)
    }
    old
}

/// CUDA's `atomicDec`: counts down to 0, then wraps to `bound`; so do values above `bound`. Returns the previous value.
///
/// # Safety
///
/// See [the module](self).
#[inline(always)]
pub unsafe fn atomic_dec_bounded_relaxed_u32_device(ptr: *mut u32, bound: u32) -> u32 {
    let old: u32;
    // SAFETY: the caller's promise is the instruction's own.
    unsafe {
        crate::ptx!("atom.gpu.dec.u32 {old}, [{ptr}], {bound};",
            old = out(u32) old, ptr = in(ptr) ptr, bound = in(u32) bound)
    }
    old
}
