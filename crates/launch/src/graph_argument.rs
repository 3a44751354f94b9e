//! Arguments of graphs: what each launch lends, and what the recording closure sees of it.

use std::any::Any;

use cust::memory::DeviceCopy;

use crate::buffer::Buffer;
use crate::buffer_slice::{BufferSlice, BufferSliceMut};
use crate::matrix::{DeviceMatrix, MatrixSlice, MatrixSliceMut, Stored};

/// The kind of a graph's argument, or of a tuple of them, without a lifetime.
pub trait GraphKind: 'static {
    /// The argument as the recording closure has it.
    type Lent<'s>;
    /// The part of it that a graph keeps.
    type Bound: GraphBound;
}

/// Arguments as the recording closure has them.
pub type Lent<'s, K> = <K as GraphKind>::Lent<'s>;

/// The part of an argument that a graph keeps, to see whether the next launch has the same.
pub trait GraphBound: PartialEq {
    /// The difference in shape, with both values.
    #[doc(hidden)]
    fn difference(&self, given: &Self) -> Option<String>;
}

/// Where memory lies, and its extents.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct BoundMemory {
    address: u64,
    extents: [usize; 2],
}

impl GraphBound for BoundMemory {
    fn difference(&self, given: &Self) -> Option<String> {
        let said = |[rows, cols]: [usize; 2]| match rows {
            usize::MAX => format!("{cols} elements"),
            _ => format!("{rows} × {cols} elements"),
        };
        (self.extents != given.extents).then(|| {
            format!("has {}, and had {} when it was captured", said(given.extents), said(self.extents))
        })
    }
}

/// A value by itself: any value fits. Floats are compared by their bits, others by `==`.
pub struct BoundValue<T>(T);

impl<T: PartialEq + 'static> PartialEq for BoundValue<T> {
    fn eq(&self, other: &Self) -> bool {
        let pair: (&dyn Any, &dyn Any) = (&self.0, &other.0);
        if let (Some(one), Some(other)) = (pair.0.downcast_ref::<f32>(), pair.1.downcast_ref::<f32>()) {
            return one.to_bits() == other.to_bits();
        }
        match (pair.0.downcast_ref::<f64>(), pair.1.downcast_ref::<f64>()) {
            (Some(one), Some(other)) => one.to_bits() == other.to_bits(),
            _ => self.0 == other.0,
        }
    }
}

impl<T: PartialEq + 'static> GraphBound for BoundValue<T> {
    fn difference(&self, _: &Self) -> Option<String> {
        None
    }
}

/// An argument of a graph: a `&Buffer`, `&mut Buffer`, a slice or matrix of one, or a value.
///
/// # Safety
/// [`bound`](Self::bound) tells arguments apart that lie elsewhere or have other lengths.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no argument of a graph",
    note = "arguments are buffers, matrices and slices of this crate, and `Copy` values that can be compared"
)]
pub unsafe trait GraphArgument {
    /// Its kind.
    type Kind: GraphKind;

    /// The part that a graph keeps.
    fn bound(&self) -> <Self::Kind as GraphKind>::Bound;

    /// The argument for the recording closure.
    fn lend<'s>(self) -> <Self::Kind as GraphKind>::Lent<'s>
    where
        Self: 's;
}

impl<T: DeviceCopy + PartialEq + 'static> GraphKind for BoundValue<T> {
    type Lent<'s> = T;
    type Bound = Self;
}
// SAFETY: a value has no memory.
unsafe impl<T: DeviceCopy + PartialEq + 'static> GraphArgument for T {
    type Kind = BoundValue<T>;

    fn bound(&self) -> BoundValue<T> {
        BoundValue(*self)
    }

    fn lend<'s>(self) -> T
    where
        Self: 's,
    {
        self
    }
}

/// Slices have one extent.
fn line(address: u64, len: usize) -> BoundMemory {
    BoundMemory { address, extents: [usize::MAX, len] }
}

fn rectangle(address: u64, sides: [u32; 2]) -> BoundMemory {
    BoundMemory { address, extents: sides.map(|side| side as usize) }
}

macro_rules! memory {
    ($($kind:ident: $($argument:ty)*, |$this:ident| $bound:expr, $lend:expr;)*) => {$(
        impl<T: DeviceCopy + 'static> GraphKind for $kind<'static, T> {
            type Lent<'s> = $kind<'s, T>;
            type Bound = BoundMemory;
        }
        $(
            // SAFETY: its address and its extents.
            unsafe impl<T: DeviceCopy + 'static> GraphArgument for $argument {
                type Kind = $kind<'static, T>;

                fn bound(&self) -> BoundMemory {
                    let $this = self;
                    $bound
                }

                #[allow(clippy::useless_conversion, reason = "a buffer becomes a slice, a slice is one")]
                fn lend<'s>(self) -> $kind<'s, T>
                where
                    Self: 's,
                {
                    let $this = self;
                    $lend
                }
            }
        )*
    )*};
}
memory! {
    BufferSlice: &Buffer<T> BufferSlice<'_, T>, |this| line(this.as_device_ptr().as_raw(), this.len()), this.into();
    BufferSliceMut: &mut Buffer<T> BufferSliceMut<'_, T>, |this| line(this.as_device_ptr().as_raw(), this.len()), this.into();
    MatrixSlice: &DeviceMatrix<T> MatrixSlice<'_, T>, |this| rectangle(this.address(), this.sides()), this.into();
    MatrixSliceMut: &mut DeviceMatrix<T> MatrixSliceMut<'_, T>, |this| rectangle(this.address(), this.sides()), this.into();
}

macro_rules! reborrowed {
    ($($slice:ident, |$this:ident| $bound:expr;)*) => {$(
        // SAFETY: its address and its extents.
        unsafe impl<T: DeviceCopy + 'static> GraphArgument for &mut $slice<'_, T> {
            type Kind = $slice<'static, T>;

            fn bound(&self) -> BoundMemory {
                let $this = &**self;
                $bound
            }

            fn lend<'s>(self) -> $slice<'s, T>
            where
                Self: 's,
            {
                self.reborrow()
            }
        }
    )*};
}
reborrowed! {
    BufferSliceMut, |this| line(this.as_device_ptr().as_raw(), this.len());
    MatrixSliceMut, |this| rectangle(this.address(), this.sides());
}

/// A tuple of a graph's arguments, of up to twelve.
///
/// # Safety
/// Each is a [`GraphArgument`], and the bound part has that of each.
///
/// ```compile_fail,E0200
/// # use warpsmith_launch::GraphArguments;
/// struct Same;
/// impl GraphArguments for Same {
///     type Kinds = ();
///     fn bound(&self) {}
///     fn lend<'s>(self) {}
/// }
/// ```
pub unsafe trait GraphArguments {
    /// Their kinds.
    type Kinds: GraphKind;

    /// The part that a graph keeps.
    #[doc(hidden)]
    fn bound(&self) -> <Self::Kinds as GraphKind>::Bound;

    /// The arguments for the recording closure.
    #[doc(hidden)]
    fn lend<'s>(self) -> Lent<'s, Self::Kinds>
    where
        Self: 's;
}

macro_rules! tuples {
    ($($argument:ident $number:tt),*) => {
        impl<$($argument: GraphKind),*> GraphKind for ($($argument,)*) {
            type Lent<'s> = ($($argument::Lent<'s>,)*);
            type Bound = ($($argument::Bound,)*);
        }

        impl<$($argument: GraphBound),*> GraphBound for ($($argument,)*) {
            #[allow(unused_variables)]
            fn difference(&self, given: &Self) -> Option<String> {
                $(if let Some(difference) = self.$number.difference(&given.$number) {
                    return Some(format!("argument {} {difference}", $number + 1));
                })*
                None
            }
        }

        // SAFETY: all are asked.
        unsafe impl<$($argument: GraphArgument),*> GraphArguments for ($($argument,)*) {
            type Kinds = ($($argument::Kind,)*);

            #[allow(clippy::unused_unit)]
            fn bound(&self) -> <Self::Kinds as GraphKind>::Bound {
                ($(self.$number.bound(),)*)
            }

            #[allow(clippy::unused_unit)]
            fn lend<'s>(self) -> Lent<'s, Self::Kinds>
            where
                Self: 's,
            {
                ($(self.$number.lend(),)*)
            }
        }
    };
}
tuples!();
tuples!(A 0);
tuples!(A 0, B 1);
tuples!(A 0, B 1, C 2);
tuples!(A 0, B 1, C 2, D 3);
tuples!(A 0, B 1, C 2, D 3, E 4);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11);
