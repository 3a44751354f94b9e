//! One function for each atomic PTX instruction.
//!
//! Names are `atomic_fetch_OPERATION_ORDERING_TYPE_SCOPE`, `atomic_load_ORDERING_WIDTH_SCOPE` and
//! `atomic_store_ORDERING_WIDTH_SCOPE`. Orderings are `relaxed`, `acquire`, `release`, `acqrel` (from `compute_70`) and
//! `volatile`, the form of older GPUs, which orders nothing. Scopes are `block`, `device` and `system`.
//!
//! `add` and `sub` of `f32` in global memory flush subnormals to zero.
//!
//! All are `unsafe`: the pointer must be valid and aligned to its type's size, and every thread that accesses the value
//! at the same time must do so atomically and be within the scope.

use crate::ptx;
use pastey::paste;

macro_rules! fences {
    ($($name:ident = $instruction:literal, $doc:literal;)*) => {$(
        #[doc = $doc]
        ///
        /// # Safety
        ///
        /// None; a fence only orders.
        #[inline(always)]
        pub unsafe fn $name() {
            // SAFETY: a fence has no precondition.
            unsafe { ptx!($instruction) }
        }
    )*};
}

fences! {
    membar_block = "membar.cta;", "Orders this thread's accesses as seen by its block.";
    membar_device = "membar.gl;", "Orders this thread's accesses as seen by its GPU.";
    membar_system = "membar.sys;", "Orders this thread's accesses as seen by all GPUs and the host.";
    fence_sc_block = "fence.sc.cta;", "A sequentially consistent fence among the block.";
    fence_sc_device = "fence.sc.gpu;", "A sequentially consistent fence among the GPU.";
    fence_sc_system = "fence.sc.sys;", "A sequentially consistent fence among all GPUs and the host.";
    fence_acqrel_block = "fence.acq_rel.cta;", "An acquire and release fence among the block.";
    fence_acqrel_device = "fence.acq_rel.gpu;", "An acquire and release fence among the GPU.";
    fence_acqrel_system = "fence.acq_rel.sys;", "An acquire and release fence among all GPUs and the host.";
}

macro_rules! loads_and_stores {
    ($($scope:ident $ptx_scope:literal;)*) => {$(
        loads_and_stores!(@load relaxed concat!("ld.relaxed.", $ptx_scope), $scope);
        loads_and_stores!(@load acquire concat!("ld.acquire.", $ptx_scope), $scope);
        loads_and_stores!(@load volatile "ld.volatile", $scope);
        loads_and_stores!(@store relaxed concat!("st.relaxed.", $ptx_scope), $scope);
        loads_and_stores!(@store release concat!("st.release.", $ptx_scope), $scope);
        loads_and_stores!(@store volatile "st.volatile", $scope);
    )*};
    (@load $ordering:ident $instruction:expr, $scope:ident) => {
        loads_and_stores!(@load_width $ordering $instruction, $scope, 32, u32, ".u32 {value}, [{ptr}];");
        loads_and_stores!(@load_width $ordering $instruction, $scope, 64, u64, ".u64 {value}, [{ptr}];");
    };
    (@load_width $ordering:ident $instruction:expr, $scope:ident, $width:literal, $type:ident, $rest:literal) => {
        paste! {
            #[doc = concat!("Loads ", $width, " bits: ", stringify!($ordering), ", ", stringify!($scope), " scope.")]
            ///
            /// # Safety
            ///
            /// See [the module](self).
            #[inline(always)]
            pub unsafe fn [<atomic_load_ $ordering _ $width _ $scope>](ptr: *const $type) -> $type {
                let value: $type;
                // SAFETY: the caller's promise is the instruction's own.
                unsafe { ptx!(concat!($instruction, $rest), value = out($type) value, ptr = in(ptr) ptr) }
                value
            }
        }
    };
    (@store $ordering:ident $instruction:expr, $scope:ident) => {
        loads_and_stores!(@store_width $ordering $instruction, $scope, 32, u32, ".u32 [{ptr}], {value};");
        loads_and_stores!(@store_width $ordering $instruction, $scope, 64, u64, ".u64 [{ptr}], {value};");
    };
    (@store_width $ordering:ident $instruction:expr, $scope:ident, $width:literal, $type:ident, $rest:literal) => {
        paste! {
            #[doc = concat!("Stores ", $width, " bits: ", stringify!($ordering), ", ", stringify!($scope), " scope.")]
            ///
            /// # Safety
            ///
            /// See [the module](self).
            #[inline(always)]
            pub unsafe fn [<atomic_store_ $ordering _ $width _ $scope>](ptr: *mut $type, val: $type) {
                // SAFETY: the caller's promise is the instruction's own.
                unsafe { ptx!(concat!($instruction, $rest), ptr = in(ptr) ptr, value = in($type) val) }
            }
        }
    };
}

loads_and_stores! {
    block "cta";
    device "gpu";
    system "sys";
}

/// Calls `$generator` with its arguments, for each ordering and scope.
macro_rules! for_each_ordering_and_scope {
    ($generator:ident $($arguments:tt)*) => {
        for_each_ordering_and_scope!(@scope $generator block "cta" $($arguments)*);
        for_each_ordering_and_scope!(@scope $generator device "gpu" $($arguments)*);
        for_each_ordering_and_scope!(@scope $generator system "sys" $($arguments)*);
    };
    (@scope $generator:ident $scope:ident $ptx_scope:literal $($arguments:tt)*) => {
        $generator!(relaxed "relaxed." $scope $ptx_scope $($arguments)*);
        $generator!(acquire "acquire." $scope $ptx_scope $($arguments)*);
        $generator!(release "release." $scope $ptx_scope $($arguments)*);
        $generator!(acqrel "acq_rel." $scope $ptx_scope $($arguments)*);
        $generator!(volatile "" $scope $ptx_scope $($arguments)*);
    };
}

/// `old = *ptr; *ptr = op(old, val); old`, by the instruction `atom.….$suffix` on a `$carrier`.
macro_rules! fetch {
    ($ordering:ident $sem:literal $scope:ident $ptx_scope:literal $op:ident $suffix:literal
        $type:ident $carrier:ident |$val:ident| $passed:expr, |$old:ident| $result:expr) => {
        paste! {
            #[doc = concat!("`", stringify!($op), "` for `", stringify!($type), "`, which returns the previous value: ",
                stringify!($ordering), ", ", stringify!($scope), " scope.")]
            ///
            /// # Safety
            ///
            /// See [the module](self).
            #[inline(always)]
            pub unsafe fn [<atomic_fetch_ $op _ $ordering _ $type _ $scope>](ptr: *mut $type, $val: $type) -> $type {
                let $old: $carrier;
                // SAFETY: the caller's promise is the instruction's own.
                unsafe {
                    ptx!(concat!("atom.", $sem, $ptx_scope, ".", $suffix, " {old}, [{ptr}], {val};"),
                        old = out($carrier) $old, ptr = in(ptr) ptr, val = in($carrier) $passed)
                }
                $result
            }
        }
    };
}

macro_rules! fetch_of_types {
    ($op:ident: $($type:ident $carrier:ident $suffix:literal |$val:ident| $passed:expr, |$old:ident| $result:expr;)*) => {
        $(for_each_ordering_and_scope!(fetch $op $suffix $type $carrier |$val| $passed, |$old| $result);)*
    };
}

fetch_of_types! { add:
    u32 u32 "add.u32" |val| val, |old| old;
    i32 i32 "add.s32" |val| val, |old| old;
    u64 u64 "add.u64" |val| val, |old| old;
    // There is no signed 64-bit form; unsigned addition gives the same bits.
    i64 i64 "add.u64" |val| val, |old| old;
    f32 f32 "add.f32" |val| val, |old| old;
    f64 f64 "add.f64" |val| val, |old| old;
}

// PTX has no subtraction: add the negative.
fetch_of_types! { sub:
    u32 u32 "add.u32" |val| val.wrapping_neg(), |old| old;
    i32 i32 "add.s32" |val| val.wrapping_neg(), |old| old;
    u64 u64 "add.u64" |val| val.wrapping_neg(), |old| old;
    i64 i64 "add.u64" |val| val.wrapping_neg(), |old| old;
    f32 f32 "add.f32" |val| -val, |old| old;
    f64 f64 "add.f64" |val| -val, |old| old;
}

fetch_of_types! { min:
    u32 u32 "min.u32" |val| val, |old| old;
    i32 i32 "min.s32" |val| val, |old| old;
    u64 u64 "min.u64" |val| val, |old| old;
    i64 i64 "min.s64" |val| val, |old| old;
}

fetch_of_types! { max:
    u32 u32 "max.u32" |val| val, |old| old;
    i32 i32 "max.s32" |val| val, |old| old;
    u64 u64 "max.u64" |val| val, |old| old;
    i64 i64 "max.s64" |val| val, |old| old;
}

macro_rules! fetch_bits {
    ($($op:ident $suffix_32:literal $suffix_64:literal;)*) => {$(
        fetch_of_types! { $op:
            u32 u32 $suffix_32 |val| val, |old| old;
            i32 i32 $suffix_32 |val| val, |old| old;
            u64 u64 $suffix_64 |val| val, |old| old;
            i64 i64 $suffix_64 |val| val, |old| old;
            f32 u32 $suffix_32 |val| val.to_bits(), |old| f32::from_bits(old);
            f64 u64 $suffix_64 |val| val.to_bits(), |old| f64::from_bits(old);
        }
    )*};
}

fetch_bits! {
    and "and.b32" "and.b64";
    or "or.b32" "or.b64";
    xor "xor.b32" "xor.b64";
    exch "exch.b32" "exch.b64";
}

/// Increment and decrement by one, wrapping.
macro_rules! step {
    ($ordering:ident $sem:literal $scope:ident $ptx_scope:literal $op:ident $suffix:literal $type:ident $step:expr) => {
        paste! {
            #[doc = concat!("`", stringify!($op), "` of `", stringify!($type), "` by one, wrapping, which returns the \
                value before: ", stringify!($ordering), ", ", stringify!($scope), " scope.")]
            ///
            /// # Safety
            ///
            /// See [the module](self).
            #[inline(always)]
            pub unsafe fn [<atomic_fetch_ $op _ $ordering _ $type _ $scope>](ptr: *mut $type) -> $type {
                let old: $type;
                // SAFETY: the caller's promise is the instruction's own.
                unsafe {
                    ptx!(concat!("atom.", $sem, $ptx_scope, ".", $suffix, " {old}, [{ptr}], {step};"),
                        old = out($type) old, ptr = in(ptr) ptr, step = in($type) $step)
                }
                old
            }
        }
    };
}

// `atom.inc` wraps at the bound given by its operand, and exists only for `u32`; adding one is the same.
for_each_ordering_and_scope!(step inc "add.u32" u32 1);
for_each_ordering_and_scope!(step inc "add.u64" u64 1);
for_each_ordering_and_scope!(step inc "add.s32" i32 1);
for_each_ordering_and_scope!(step inc "add.u64" i64 1);
for_each_ordering_and_scope!(step dec "add.u32" u32 u32::MAX);
for_each_ordering_and_scope!(step dec "add.u64" u64 u64::MAX);
for_each_ordering_and_scope!(step dec "add.s32" i32 -1);
for_each_ordering_and_scope!(step dec "add.u64" i64 -1);

/// `old = *ptr; if old == current { *ptr = new }; old`, on bits.
macro_rules! cas {
    ($ordering:ident $sem:literal $scope:ident $ptx_scope:literal
        $type:ident $carrier:ident $suffix:literal |$val:ident| $passed:expr, |$old:ident| $result:expr) => {
        paste! {
            #[doc = concat!("Compares the `", stringify!($type), "` there with `current`, bit for bit, stores `new` if they are \
                equal, and returns the value before: ", stringify!($ordering), ", ", stringify!($scope), " scope.")]
            ///
            /// # Safety
            ///
            /// See [the module](self).
            #[inline(always)]
            pub unsafe fn [<atomic_fetch_cas_ $ordering _ $type _ $scope>](
                ptr: *mut $type,
                current: $type,
                new: $type,
            ) -> $type {
                let carry = |$val: $type| -> $carrier { $passed };
                let $old: $carrier;
                // SAFETY: the caller's promise is the instruction's own.
                unsafe {
                    ptx!(concat!("atom.", $sem, $ptx_scope, ".", $suffix, " {old}, [{ptr}], {current}, {new};"),
                        old = out($carrier) $old, ptr = in(ptr) ptr,
                        current = in($carrier) carry(current), new = in($carrier) carry(new))
                }
                $result
            }
        }
    };
}

for_each_ordering_and_scope!(cas u32 u32 "cas.b32" |val| val, |old| old);
for_each_ordering_and_scope!(cas i32 i32 "cas.b32" |val| val, |old| old);
for_each_ordering_and_scope!(cas u64 u64 "cas.b64" |val| val, |old| old);
for_each_ordering_and_scope!(cas i64 i64 "cas.b64" |val| val, |old| old);
for_each_ordering_and_scope!(cas f32 u32 "cas.b32" |val| val.to_bits(), |old| f32::from_bits(old));
for_each_ordering_and_scope!(cas f64 u64 "cas.b64" |val| val.to_bits(), |old| f64::from_bits(old));
