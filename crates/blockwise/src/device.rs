//! Items for the expansions of `#[kernel]` and `#[derive(DeviceCopy)]`. Nothing here is for users.

use ::tile::Layout;

use crate::fingerprint::{NO_MAP, OF_PARAMETER, word};
use crate::linear::is_one_to_one;
use crate::tile::Empty;
use crate::{
    Counters, DeviceCopy, Dynamic, Element, Matrix, MatrixMap, MatrixMut, Scratch, SliceMap, SliceMut, Tile,
};

pub use crate::BlockToken;
pub use crate::fingerprint::{count, numbers};
pub use crate::requires::{HasExtents, HasValue};
pub use crate::{__host_copy as host_copy, __shared as shared};
pub use cuda_std;
pub use cuda_std::__device::{Passing, passing};
#[cfg(feature = "host")]
pub use cust_core;

/// A parameter of a blockwise kernel, as it travels: what it points to, and the rest of it by value.
///
/// # Safety
/// `Memory` is `()`, a pointer or a slice; `make` is the only way to the value. `FINGERPRINT` is the same for the same type only.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a kernel without `unsafe`",
    label = "not a parameter",
    note = "a struct or enum of your own is one if it derives `Clone, Copy, DeviceCopy`",
    note = "else a kernel takes numbers, `&[T]` (written so, not by another name), `Matrix<T>`, `Counters<T>`, `SliceMut<T, …>` and `MatrixMut<T, …>`"
)]
pub unsafe trait Parameter: Sized {
    /// Its pointer or slice.
    type Memory: Copy;
    /// The rest.
    type Value: Copy;

    /// The passing of `Memory`.
    const MEMORY: Passing;
    /// The passing of `Value`.
    const VALUE: Passing;

    /// The kind, the map, and the content of the elements.
    const FINGERPRINT: [u64; OF_PARAMETER];

    /// The constants of a linear map, which must suit the block.
    const LINEAR: Option<[usize; 5]> = None;

    /// # Safety
    /// The launch passes what the type promises.
    unsafe fn make(memory: Self::Memory, value: &Self::Value) -> Self;
}

macro_rules! memory {
    ($(impl[$($generics:tt)*] $parameter:ty: $memory:ty, $value:ty, $kind:literal, $map:expr $(, $linear:expr)?;)*) => {$(
        // SAFETY: it is made of its parts.
        unsafe impl<$($generics)*> Parameter for $parameter {
            type Memory = $memory;
            type Value = $value;
            const MEMORY: Passing = passing!($memory);
            const VALUE: Passing = passing!($value);
            const FINGERPRINT: [u64; OF_PARAMETER] = T::CONTENT.parameter($kind, $map);
            $(const LINEAR: Option<[usize; 5]> = $linear;)?
            #[inline(always)]
            unsafe fn make(memory: $memory, value: &$value) -> Self {
                // SAFETY: the caller's promise.
                unsafe { Self::from_raw(memory, *value) }
            }
        }
    )*};
}
memory! {
    impl[T: DeviceCopy] Matrix<T>: &'static [T], [u32; 2], "matrix", NO_MAP;
    impl[T: DeviceCopy, M: MatrixMap] MatrixMut<T, M>: *mut T, [u32; 2], "output", M::NUMBERS, M::LINEAR;
    impl[T: DeviceCopy, M: SliceMap] SliceMut<T, M>: *mut T, usize, "output", M::NUMBERS, M::LINEAR;
    impl[T: DeviceCopy] Counters<T>: *mut T, usize, "counters", NO_MAP;
}

/// The kind of a slice to read.
pub const fn slice<T: DeviceCopy>() -> [u64; OF_PARAMETER] {
    T::CONTENT.parameter("slice", NO_MAP)
}

/// The kind of a parameter passed by value.
pub const fn value<T: DeviceCopy>() -> [u64; OF_PARAMETER] {
    T::CONTENT.parameter("value", NO_MAP)
}

/// A parameter's mark, which what lies in shared memory needs: by implementing nothing it has the message be about the mark.
#[diagnostic::on_unimplemented(
    message = "`{T}` lies in shared memory, and its parameter does not say so",
    label = "write `#[shared]` before this parameter"
)]
pub trait Marks<T> {}

/// No mark at all.
pub enum Unmarked {}

macro_rules! marked {
    ($(impl[$($generics:tt)*] $memory:ty;)*) => {$(
        // SAFETY: no parameter is one, since nothing implements `Marks`.
        unsafe impl<$($generics)*> Parameter for $memory
        where
            Unmarked: Marks<Self>,
        {
            type Memory = ();
            type Value = ();
            const MEMORY: Passing = passing!(());
            const VALUE: Passing = passing!(());
            const FINGERPRINT: [u64; OF_PARAMETER] = [0; OF_PARAMETER];
            unsafe fn make((): (), (): &()) -> Self {
                unreachable!()
            }
        }
    )*};
}
marked! {
    impl[T, const ROWS: usize, const COLS: usize, L, P] Tile<T, ROWS, COLS, L, P>;
    impl[T] Scratch<T>;
    impl[T] Dynamic<T>;
}

macro_rules! pointers {
    ($($pointer:ty)*) => {$(
        // SAFETY: a pointer is its own. No safe launch passes one.
        unsafe impl<T> Parameter for $pointer {
            type Memory = ();
            type Value = Self;
            const MEMORY: Passing = passing!(());
            const VALUE: Passing = passing!(Self);
            const FINGERPRINT: [u64; OF_PARAMETER] = [word("pointer"), 0, 0, 0, 0, 8, 8, 0, 0];
            #[inline(always)]
            unsafe fn make((): (), value: &Self) -> Self {
                *value
            }
        }
    )*};
}
pointers! { *const T *mut T }

/// Refuses a type of the user's own by the name of a primitive one, which the entry would take for a number.
pub const fn is_primitive<T: Primitive>() {}

/// A type that the PTX knows as a number.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has the name of a primitive type here",
    label = "give the type another name"
)]
pub trait Primitive {}
macro_rules! primitives {
    ($($ty:ty)*) => {
        $(impl Primitive for $ty {})*
    };
}
primitives! { u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 bool char }

/// Refuses the constants of a linear map that do not suit the block, and elements that no buffer is aligned for.
pub const fn fits(fingerprint: [u64; OF_PARAMETER], linear: Option<[usize; 5]>, block: [u32; 3]) {
    let [.., align, _, _] = fingerprint;
    assert!(align <= 256, "what a kernel is passed is aligned to at most 256 bytes, as buffers are");
    if let Some(constants) = linear {
        is_one_to_one(constants, block);
    }
}

/// Refuses more than one dynamic shared memory.
pub const fn one_dynamic_memory(dynamic: &[bool]) {
    let (mut at, mut count) = (0, 0);
    while at < dynamic.len() {
        count += dynamic[at] as usize;
        at += 1;
    }
    assert!(count <= 1, "a kernel has one dynamic shared memory, which it divides");
}

/// Whether it is the dynamic shared memory. Refuses what does not lie in shared memory, and a length that is not one.
pub const fn lies_in_shared_memory<S: SharedParameter>() -> bool {
    let _ = S::LEN;
    S::DYNAMIC
}

/// Refuses a parameter that has no extents.
pub const fn has_extents<P: HasExtents>() {}

/// Refuses a parameter that is no unsigned number.
pub const fn has_value<P: HasValue>() {}

/// Refuses a constant that is no unsigned number.
pub const fn is_number<P: HasValue>(_: &P) {}

/// The kind of a parameter.
pub type ParameterFingerprint = [u64; OF_PARAMETER];

/// A parameter that `#[kernel]` makes in shared memory.
///
/// # Safety
/// `make` uses `LEN` elements.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not lie in shared memory",
    label = "not a tile",
    note = "a `#[shared]` parameter is an empty tile, as in `#[shared] tile: Tile<f32, 32, 32>`"
)]
pub unsafe trait SharedParameter {
    /// The type of its elements.
    type Element;
    /// The number of its elements.
    const LEN: usize;
    /// Whether it is the dynamic shared memory, of which there is one.
    const DYNAMIC: bool = false;
    /// # Safety
    /// The memory is this parameter's alone.
    unsafe fn make(first: *mut Self::Element) -> Self;
}

// SAFETY: a layout keeps to its length.
unsafe impl<T: Element, const ROWS: usize, const COLS: usize, L: Layout<ROWS, COLS>> SharedParameter
    for Tile<T, ROWS, COLS, L, Empty>
{
    type Element = T;
    const LEN: usize = Self::LEN;
    #[inline(always)]
    unsafe fn make(first: *mut T) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::from_raw(first) }
    }
}

// SAFETY: it keeps to its length.
unsafe impl<T: Element> SharedParameter for Scratch<T> {
    type Element = T;
    const LEN: usize = Self::LEN;
    #[inline(always)]
    unsafe fn make(first: *mut T) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::from_raw(first) }
    }
}

// SAFETY: it uses none of the memory that it is given.
unsafe impl<T: Element> SharedParameter for Dynamic<T> {
    type Element = T;
    const LEN: usize = 0;
    const DYNAMIC: bool = true;
    #[inline(always)]
    unsafe fn make(_: *mut T) -> Self {
        // SAFETY: a kernel has one such parameter.
        unsafe { Self::all() }
    }
}

/// A `#[shared]` parameter: each place in the source that says so is one memory for each block.
#[doc(hidden)]
#[macro_export]
macro_rules! __shared {
    ($ty:ty) => {
        <$ty as $crate::__device::SharedParameter>::make($crate::cuda_std::shared_array![
            <$ty as $crate::__device::SharedParameter>::Element;
            <$ty as $crate::__device::SharedParameter>::LEN
        ])
    };
}

/// Implements `cust`'s trait, where there is a host.
#[doc(hidden)]
#[macro_export]
#[cfg(feature = "host")]
macro_rules! __host_copy {
    ($($implementation:tt)*) => { $($implementation)* };
}

/// Implements nothing: on the device there is no `cust`.
#[doc(hidden)]
#[macro_export]
#[cfg(not(feature = "host"))]
macro_rules! __host_copy {
    ($($implementation:tt)*) => {};
}
