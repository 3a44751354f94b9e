//! What the expansion of `#[kernel]` names. Nothing here is for users.

use ::tile::Layout;

use crate::tile::Empty;
use crate::{Counters, Element, Matrix, MatrixMut, SliceMut, Tile};

pub use crate::__shared as shared;
pub use crate::BlockToken;
pub use crate::requires::HasExtents;
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

    /// # Safety
    /// The launch passes what the type promises.
    unsafe fn make(memory: Self::Memory, value: &Self::Value) -> Self;
}

// SAFETY: a value is its own.
unsafe impl<T: Copy> Parameter for T {
    type Memory = ();
    type Value = T;
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
