//! What the expansion of `#[kernel]` names. Nothing here is for users.

use ::tile::Layout;

use crate::agreement::{NO_MAP, parameter};
use crate::linear::is_one_to_one;
use crate::tile::Empty;
use crate::{Counters, Dynamic, Element, Matrix, MatrixMap, MatrixMut, Scratch, SliceMap, SliceMut, Tile};

pub use crate::BlockToken;
pub use crate::agreement::{Probe, Unnamed};
pub use crate::requires::{HasExtents, HasValue};
pub use crate::{__agreed as agreed, __shared as shared};
pub use cuda_std;

/// A parameter of a blockwise kernel, as it travels: what it points to, and the rest of it by value.
///
/// # Safety
/// `Memory` is `()`, a pointer or a slice; `make` is the only way to the value.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no parameter of a kernel",
    label = "no parameter of a kernel",
    note = "a kernel takes numbers, `Copy` structs, `&[T]`, `Matrix<T>`, `SliceMut<T>` and `MatrixMut<T, …>`"
)]
pub unsafe trait Parameter: Sized {
    /// What it points to.
    type Memory: Copy;
    /// The rest.
    type Value: Copy;
    /// What it holds; a value holds itself.
    type Element;

    /// # Safety
    /// The launch passes what the type promises.
    unsafe fn make(memory: Self::Memory, value: &Self::Value) -> Self;
}

// SAFETY: a value is its own.
unsafe impl<T: Copy> Parameter for T {
    type Memory = ();
    type Value = T;
    type Element = T;
    #[inline(always)]
    unsafe fn make((): (), value: &T) -> T {
        *value
    }
}

macro_rules! memory {
    ($(impl[$($generics:tt)*] $parameter:ty: $memory:ty, $value:ty;)*) => {$(
        // SAFETY: it is made of its parts.
        unsafe impl<$($generics)*> Parameter for $parameter {
            type Memory = $memory;
            type Value = $value;
            type Element = T;
            #[inline(always)]
            unsafe fn make(memory: $memory, value: &$value) -> Self {
                // SAFETY: the caller's promise.
                unsafe { Self::from_raw(memory, *value) }
            }
        }
    )*};
}
memory! {
    impl[T: Element] Matrix<T>: &'static [T], [u32; 2];
    impl[T: Element, M] MatrixMut<T, M>: *mut T, [u32; 2];
    impl[T: Element, M] SliceMut<T, M>: *mut T, usize;
    impl[T: Element] Counters<T>: *mut T, usize;
}

/// What a parameter is, and its map, for host and device to compare.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is divided by no map",
    label = "its last type is no map",
    note = "a `SliceMut` has `OneEach`, `Strided` or `Part<N>`, a `MatrixMut` has `Tiles<R, C>`, `Mirrored<R, C>` or `Rows`, either has `Linear<R, C, X, Y, K>`"
)]
pub trait Agreed {
    /// The kind, and the map's name and constants.
    const AGREED: [u64; 4];

    /// The constants of a linear map, which must suit the block.
    const LINEAR: Option<[usize; 5]> = None;
}

macro_rules! agreed {
    ($(impl[$($generics:tt)*] $parameter:ty: $kind:literal, $map:expr $(, $linear:expr)?;)*) => {$(
        impl<$($generics)*> Agreed for $parameter {
            const AGREED: [u64; 4] = parameter($kind, $map);
            $(const LINEAR: Option<[usize; 5]> = $linear;)?
        }
    )*};
}
agreed! {
    impl[T: Copy] T: "value", NO_MAP;
    impl[T: Element] Matrix<T>: "matrix", NO_MAP;
    impl[T: Element, M: MatrixMap] MatrixMut<T, M>: "output", M::NUMBERS, M::LINEAR;
    impl[T: Element, M: SliceMap] SliceMut<T, M>: "output", M::NUMBERS, M::LINEAR;
    impl[T: Element] Counters<T>: "counters", NO_MAP;
}

/// Refuses the constants of a linear map that do not suit the block.
pub const fn suits(linear: Option<[usize; 5]>, block: [u32; 3]) {
    if let Some(constants) = linear {
        is_one_to_one(constants, block);
    }
}

/// What a slice to read is: it has no map.
pub const SLICE: [u64; 4] = parameter("slice", NO_MAP);

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
    /// What the memory holds.
    type Element;
    /// How many of them.
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
