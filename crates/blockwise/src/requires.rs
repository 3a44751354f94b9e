//! Requirements of a kernel on its parameters' extents: the host tests them before the launch, so the kernel need not.

use core::any::Any;

use crate::fingerprint::{Fingerprint, OF_RELATION, word};
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
pub struct UnmetRequirement {
    /// As the kernel says it: `a.len() == sum.len()`.
    pub relation: &'static str,
    /// The value of its left side.
    pub left: usize,
    /// The value of its right side.
    pub right: usize,
}

/// The first relation of a kernel that the extents of a launch's arguments break. The host tests the very numbers that it has
/// compared with the device's, so nothing else that a kernel's module holds can change what is tested.
pub(crate) fn unmet_requirement(
    fingerprint: &[u64],
    texts: &[&'static str],
    extents: &[Extents],
) -> Option<UnmetRequirement> {
    let relations = Fingerprint::read(fingerprint).map_or(&[][..], |numbers| numbers.relations);
    relations.iter().zip(texts).find_map(|([operator, sides @ ..], relation)| {
        let _: &[u64; OF_RELATION - 1] = sides;
        let [left, right] = [&sides[..4], &sides[4..]].map(|side| sum(side, extents));
        let holds = left.zip(right).is_some_and(|(left, right)| match *operator {
            operator if operator == word("==") => left == right,
            operator if operator == word("<=") => left <= right,
            operator if operator == word(">=") => left >= right,
            operator if operator == word("<") => left < right,
            operator if operator == word(">") => left > right,
            _ => false,
        });
        let [left, right] = [left, right].map(|side| side.unwrap_or(usize::MAX));
        (!holds).then_some(UnmetRequirement { relation, left, right })
    })
}

/// The sum of a side's terms; `None` if no number holds it.
fn sum(side: &[u64], extents: &[Extents]) -> Option<usize> {
    side.as_chunks().0.iter().try_fold(0usize, |sum, [asked, which]| {
        let of = || extents.get(usize::try_from(*which).ok()?);
        let term = match *asked {
            asked if asked == word("none") => 0,
            asked if asked == word("number") => usize::try_from(*which).ok()?,
            asked if asked == word("value") => of()?.value(),
            asked if asked == word("len") => of()?.len(),
            asked if asked == word("rows") => of()?.rows(),
            asked if asked == word("cols") => of()?.cols(),
            _ => return None,
        };
        sum.checked_add(term)
    })
}

mod sealed {
    pub trait Sealed {}
}

/// A parameter that has extents. Sealed: the host knows them by the same rule.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no extents that a kernel could require something of",
    label = "neither a slice nor a matrix",
    note = "of a number a kernel requires something by its name alone"
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
