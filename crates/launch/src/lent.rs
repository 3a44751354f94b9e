//! Arguments that stay lent until a scope has ended.

use cust::memory::DeviceCopy;

use crate::buffer::Buffer;
use crate::buffer_slice::{BufferSlice, BufferSliceMut};
use crate::matrix::{DeviceMatrix, MatrixSlice, MatrixSliceMut};

/// An argument whose memory is lent to a scope until its end.
///
/// A scope runs one launch after the other. So a [`BufferSliceMut`] that is lent as long may be an argument of several, each
/// time by a short borrow: `&mut slice` where it is written, `&slice` where it is read.
///
/// ```no_run
/// # use blockwise::prelude::*;
/// # use warpsmith_launch::{Buffer, Device, Error, Launcher};
/// # #[kernel]
/// # pub fn step(block: Block<256>, from: &[f32], mut to: SliceMut<f32>) {}
/// # fn both(device: &Device, step: &Launcher<step>, x: &mut Buffer<f32>, y: &mut Buffer<f32>) -> Result<(), Error> {
/// let (mut x, mut y) = (x.slice_mut(..), y.slice_mut(..));
/// device.scope(|scope| {
///     scope.launch(step, (&x, &mut y))?;
///     scope.launch(step, (&y, &mut x))
/// })
/// # }
/// ```
///
/// # Safety
/// The memory is there for `'scope`, and other code reaches it only through what is lent to the scope, or on the stream of the
/// device in [`only_on`](Self::only_on).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not lent until the scope ends",
    note = "arguments are buffers, slices and matrices of this crate, and values"
)]
pub unsafe trait LentFor<'scope> {
    /// The device on whose stream alone it may be used, as a number: that of a slice by a short borrow, which other code reaches
    /// when the borrow is over.
    #[doc(hidden)]
    fn only_on(&self) -> Option<usize> {
        None
    }
}

// SAFETY: a value has no memory.
unsafe impl<T: DeviceCopy + 'static> LentFor<'_> for T {}

macro_rules! lent {
    ($([$($generics:tt)*] $argument:ty;)*) => {$(
        // SAFETY: the borrow lasts as long, or that of the slice does; there, each borrow for a launch is of its own.
        unsafe impl<'scope, $($generics)* T: DeviceCopy> LentFor<'scope> for $argument {}
    )*};
}
lent! {
    [] &'scope Buffer<T>;
    [] &'scope mut Buffer<T>;
    [] BufferSlice<'scope, T>;
    [] BufferSliceMut<'scope, T>;
    [] &'scope DeviceMatrix<T>;
    [] &'scope mut DeviceMatrix<T>;
    [] MatrixSlice<'scope, T>;
    [] MatrixSliceMut<'scope, T>;
}
macro_rules! borrowed {
    ($([$($generics:tt)*] $argument:ty;)*) => {$(
        // SAFETY: the slice is lent as long, and its device's stream has one launch after the other.
        unsafe impl<'scope, $($generics)* T: DeviceCopy> LentFor<'scope> for $argument {
            fn only_on(&self) -> Option<usize> {
                Some(self.device())
            }
        }
    )*};
}
borrowed! {
    ['r,] &'r BufferSliceMut<'scope, T>;
    ['r, 'b: 'scope,] &'r mut BufferSliceMut<'b, T>;
    ['r,] &'r MatrixSliceMut<'scope, T>;
    ['r, 'b: 'scope,] &'r mut MatrixSliceMut<'b, T>;
}
#[cfg(feature = "share")]
lent! {
    ['b: 'scope,] &'scope crate::slice_guard::SliceGuard<'b, T>;
    ['b: 'scope,] &'scope mut crate::slice_guard::SliceGuardMut<'b, T>;
}

/// A tuple of arguments that are [`LentFor`] a scope.
///
/// # Safety
/// Each is.
pub unsafe trait AllLentFor<'scope> {
    /// Tells whether each may be used on the stream of this device.
    #[doc(hidden)]
    fn fit(&self, device: usize) -> bool;
}

macro_rules! tuples {
    ($($argument:ident)*) => {
        // SAFETY: each is.
        unsafe impl<'scope, $($argument: LentFor<'scope>),*> AllLentFor<'scope> for ($($argument,)*) {
            #[allow(non_snake_case, unused_variables)]
            fn fit(&self, device: usize) -> bool {
                let ($($argument,)*) = self;
                true $(&& $argument.only_on().is_none_or(|only| only == device))*
            }
        }
        tuples!(@shorter $($argument)*);
    };
    (@shorter) => {};
    (@shorter $argument:ident $($arguments:ident)*) => { tuples!($($arguments)*); };
}
tuples!(A B C D E F G H I J K L M N O P);

/// Memory that a scope copies from.
///
/// # Safety
/// The elements are there as long as the memory is lent.
///
/// ```compile_fail,E0200
/// # use warpsmith_launch::CopySource;
/// struct Anywhere;
/// impl CopySource<u8> for Anywhere {
///     fn elements(&self) -> (u64, usize) {
///         (1 << 40, 4)
///     }
/// }
/// ```
pub unsafe trait CopySource<T> {
    /// Its elements.
    #[doc(hidden)]
    fn elements(&self) -> (u64, usize);
}

/// Memory that a scope copies to.
///
/// # Safety
/// As [`CopySource`]'s; and what is lent may be written.
pub unsafe trait CopyTarget<T> {
    /// Its elements.
    #[doc(hidden)]
    fn elements(&self) -> (u64, usize);
}

macro_rules! copied {
    ($($end:ident: $($argument:ty)*;)*) => {$($(
        // SAFETY: the address and the length are those of its memory.
        unsafe impl<T: DeviceCopy> $end<T> for $argument {
            fn elements(&self) -> (u64, usize) {
                (self.as_device_ptr().as_raw(), self.len())
            }
        }
    )*)*};
}
copied! {
    CopySource: &Buffer<T> BufferSlice<'_, T> &BufferSliceMut<'_, T>;
    CopyTarget: &mut Buffer<T> BufferSliceMut<'_, T> &mut BufferSliceMut<'_, T>;
}
