//! What a kernel asks of its parameters' extents: the host tests it before the launch, and the kernel need not test it again.

use core::any::Any;

use crate::{Counters, Element, Matrix, MatrixMut, SliceMut};

/// The extents of a parameter, as `#[requires(…)]` names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extents {
    len: usize,
    cols: usize,
}

impl Extents {
    /// Of a line of elements.
    #[inline(always)]
    pub const fn line(len: usize) -> Self {
        Self { len, cols: 1 }
    }

    /// Of a number: its value is what a relation is about.
    #[inline(always)]
    pub const fn number(value: usize) -> Self {
        Self::line(value)
    }

    /// Of a parameter that is passed by value: an unsigned number has its value, all else has nothing.
    pub fn of_value(value: &dyn Any) -> Self {
        macro_rules! numbers {
            ($($ty:ty)*) => {
                None$(.or_else(|| value.downcast_ref::<$ty>().map(|number| *number as usize)))*
            };
        }
        Self::number(numbers!(u8 u16 u32 u64 usize).unwrap_or(0))
    }

    /// Of a matrix.
    #[inline(always)]
    pub const fn matrix(rows: usize, cols: usize) -> Self {
        Self { len: rows, cols }
    }

    /// The elements of a line.
    #[inline(always)]
    pub const fn len(self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The value of a number.
    #[inline(always)]
    pub const fn value(self) -> usize {
        self.len
    }

    /// The rows of a matrix.
    #[inline(always)]
    pub const fn rows(self) -> usize {
        self.len
    }

    /// The columns of a matrix.
    #[inline(always)]
    pub const fn cols(self) -> usize {
        self.cols
    }
}

/// A relation between extents that does not hold, with both values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken {
    /// As the kernel says it: `a.len() == sum.len()`.
    pub relation: &'static str,
    /// The value of its left side.
    pub left: usize,
    /// The value of its right side.
    pub right: usize,
}

mod sealed {
    pub trait Sealed {}
}

/// A parameter that has extents. Sealed: the host knows them by the same rule.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no extents that a kernel could require something of",
    label = "neither a slice nor a matrix"
)]
pub trait HasExtents: sealed::Sealed {
    /// Its extents.
    fn extents(&self) -> Extents;
}

/// A parameter that is an unsigned number. Sealed as well.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no number that a kernel could require something of",
    label = "not an unsigned number",
    note = "of a slice a kernel requires something of its `len()`, of a matrix of its `rows()` and `cols()`"
)]
pub trait HasValue: sealed::Sealed {
    /// Its value.
    fn extents(&self) -> Extents;
}

macro_rules! values {
    ($($ty:ty)*) => {$(
        impl sealed::Sealed for $ty {}
        impl HasValue for $ty {
            #[inline(always)]
            fn extents(&self) -> Extents {
                Extents::number(*self as usize)
            }
        }
    )*};
}
values! { u8 u16 u32 u64 usize }

macro_rules! extents {
    ($(impl[$($generics:tt)*] $ty:ty: |$it:ident| $extents:expr;)*) => {$(
        impl<$($generics)*> sealed::Sealed for $ty {}
        impl<$($generics)*> HasExtents for $ty {
            #[inline(always)]
            fn extents(&self) -> Extents {
                let $it = self;
                $extents
            }
        }
    )*};
}
extents! {
    impl[T] &[T]: |it| Extents::line(it.len());
    impl[T: Element, M] SliceMut<T, M>: |it| Extents::line(it.len());
    impl[T: Element] Counters<T>: |it| Extents::line(it.len());
    impl[T: Copy] Matrix<T>: |it| Extents::matrix(it.rows(), it.cols());
    impl[T: Element, M] MatrixMut<T, M>: |it| Extents::matrix(it.rows(), it.cols());
}
