//! Arguments of blockwise kernels, and their requirements on the grid.

use blockwise::{
    Counters, Element, Extents, GridRequirement, Matrix, MatrixMap, MatrixMut, SliceMap, SliceMut,
};
use cust::memory::DeviceCopy;

use crate::argument::{Argument, Arguments, HostType, PackedArguments};
use crate::buffer::Buffer;
use crate::buffer_slice::{BufferSlice, BufferSliceMut};
use crate::float16::{Bf16, F16};
use crate::matrix::{DeviceMatrix, MatrixSlice, MatrixSliceMut, Stored};

/// A host value for a parameter of type `P` of a kernel without `unsafe`.
///
/// | parameter | argument |
/// | --- | --- |
/// | a number, or a `Copy` type by value | itself |
/// | `&[T]` | `&Buffer<T>`, `BufferSlice<T>`, `&BufferSliceMut<T>`, `&SliceGuard<T>` |
/// | `Matrix<T>` | `&DeviceMatrix<T>`, `MatrixSlice<T>`, `&MatrixSliceMut<T>` |
/// | `SliceMut<T, …>`, `Counters<T>` | `&mut Buffer<T>`, `BufferSliceMut<T>`, `&mut BufferSliceMut<T>`, `&mut SliceGuardMut<T>` |
/// | `MatrixMut<T, …>` | `&mut DeviceMatrix<T>`, `MatrixSliceMut<T>`, `&mut MatrixSliceMut<T>` |
///
/// Two parts of one buffer are two arguments:
///
/// ```no_run
/// # use blockwise::prelude::*;
/// # use warpsmith_launch::{Buffer, Device, Error, Launcher};
/// # #[kernel]
/// # pub fn scan(block: Block<256>, mut before: SliceMut<f32>, mut after: SliceMut<f32>) {}
/// # fn both(device: &Device, scan: &Launcher<scan>, mut buffer: Buffer<f32>) -> Result<(), Error> {
/// let (before, after) = buffer.split_at_mut(1000);
/// device.scope(|scope| scope.launch(scan, (before, after)))
/// # }
/// ```
/// `cust`'s buffers are no arguments: safe code can reach their memory while a kernel runs. Its `DeviceSlice` is `Copy`, so to
/// borrow one says nothing about its copies, and a `DeviceBuffer` derefs to one.
///
/// ```compile_fail,E0277
/// # use blockwise::prelude::*;
/// # use warpsmith_launch::{Scope, Launcher, cust::memory::DeviceSlice};
/// # #[kernel]
/// # pub fn fill(block: Block<256>, mut to: SliceMut<f32>) {}
/// # fn twice<'s>(scope: &'s Scope<'s, '_>, fill: &Launcher<fill>, part: &'s mut DeviceSlice<f32>) {
/// scope.launch(fill, (part,)).unwrap();
/// # }
/// ```
/// ```compile_fail,E0277
/// # use blockwise::prelude::*;
/// # use warpsmith_launch::{Scope, Launcher, cust::memory::DeviceBuffer};
/// # #[kernel]
/// # pub fn fill(block: Block<256>, mut to: SliceMut<f32>) {}
/// # fn twice<'s>(scope: &'s Scope<'s, '_>, fill: &Launcher<fill>, whole: &'s mut DeviceBuffer<f32>) {
/// scope.launch(fill, (whole,)).unwrap();
/// # }
/// ```
/// Nor is a part lent twice:
///
/// ```compile_fail,E0499
/// # use blockwise::prelude::*;
/// # use warpsmith_launch::{Buffer, Device, Launcher};
/// # #[kernel]
/// # pub fn scan(block: Block<256>, mut before: SliceMut<f32>, mut after: SliceMut<f32>) {}
/// # fn both(device: &Device, scan: &Launcher<scan>, mut buffer: Buffer<f32>) {
/// let (before, after) = (buffer.slice_mut(..1000), buffer.slice_mut(..1000));
/// device.scope(|scope| scope.launch(scan, (before, after)));
/// # }
/// ```
///
/// # Safety
/// As long as the argument is borrowed, the kernel may do with the parameter whatever its type allows: nothing writes what it
/// reads, and nothing else reaches what it writes. [`grid_requirement`](Self::grid_requirement) is that of the parameter's map, and
/// [`extents`](Self::extents) are those that the kernel sees.
#[diagnostic::on_unimplemented(
    message = "the kernel's parameter of type `{P}` does not take `{Self}`",
    label = "passed for a parameter of type `{P}`",
    note = "`&[T]` takes `&Buffer<T>`, `Matrix<T>` takes `&DeviceMatrix<T>`, `SliceMut<T>` takes `&mut Buffer<T>`, \
            `MatrixMut<T, …>` takes `&mut DeviceMatrix<T>`; `T` must be the same type",
    note = "`Device::upload` and `Device::zeroed` make a `Buffer`; `Buffer::from_cust` makes one of `cust`'s, which is `unsafe`"
)]
pub unsafe trait SafeArgument<P>: Argument<P> {
    /// Its requirement on the grid, for blocks of `threads` threads.
    fn grid_requirement(&self, threads: usize) -> Option<GridRequirement> {
        let _ = threads;
        None
    }

    /// Its extents, if it has any.
    fn extents(&self) -> Extents {
        Extents::line(0)
    }
}

// SAFETY: a value is copied; no one else has it.
unsafe impl<T: DeviceCopy + 'static> SafeArgument<T> for T {
    fn extents(&self) -> Extents {
        Extents::of_value(self)
    }
}
// SAFETY: as above.
unsafe impl SafeArgument<half::f16> for F16 {}
// SAFETY: as above.
unsafe impl SafeArgument<half::bf16> for Bf16 {}

// SAFETY: a borrow forbids others to write.
unsafe impl<T, U: HostType<T>> SafeArgument<&'static [T]> for &Buffer<U> {
    fn extents(&self) -> Extents {
        Extents::line(self.len())
    }
}
// SAFETY: as above, of the buffer that it is of.
unsafe impl<T, U: HostType<T>> SafeArgument<&'static [T]> for BufferSlice<'_, U> {
    fn extents(&self) -> Extents {
        Extents::line(self.len())
    }
}

// SAFETY: as above; nothing writes the elements as long as this borrow of the slice lasts.
unsafe impl<T, U: HostType<T>> SafeArgument<&'static [T]> for &BufferSliceMut<'_, U> {
    fn extents(&self) -> Extents {
        Extents::line(self.len())
    }
}

// SAFETY: as above, of the slice that it guards.
#[cfg(feature = "share")]
unsafe impl<T, U: HostType<T>> SafeArgument<&'static [T]> for &crate::slice_guard::SliceGuard<'_, U> {
    fn extents(&self) -> Extents {
        Extents::line(self.len())
    }
}

macro_rules! written {
    ($($buffer:ty)*) => {$(
        // SAFETY: a pointer, and the length by value.
        unsafe impl<T: Element, U: HostType<T>, M: SliceMap> Argument<SliceMut<T, M>> for $buffer {
            fn pack(self, packed: &mut PackedArguments) {
                packed.push(self.as_device_ptr().as_raw());
                packed.push(self.len());
            }
        }
        // SAFETY: a mutable borrow forbids others to reach it.
        unsafe impl<T: Element, U: HostType<T>, M: SliceMap> SafeArgument<SliceMut<T, M>> for $buffer {
            fn grid_requirement(&self, threads: usize) -> Option<GridRequirement> {
                Some(M::grid_requirement(self.len(), threads))
            }

            fn extents(&self) -> Extents {
                Extents::line(self.len())
            }
        }

        // SAFETY: a pointer, and the length by value.
        unsafe impl<T: Element, U: HostType<T>> Argument<Counters<T>> for $buffer {
            fn pack(self, packed: &mut PackedArguments) {
                packed.push(self.as_device_ptr().as_raw());
                packed.push(self.len());
            }
        }
        // SAFETY: a mutable borrow forbids others to reach it.
        unsafe impl<T: Element, U: HostType<T>> SafeArgument<Counters<T>> for $buffer {
            fn extents(&self) -> Extents {
                Extents::line(self.len())
            }
        }
    )*};
}
written!(&mut Buffer<U> BufferSliceMut<'_, U> &mut BufferSliceMut<'_, U>);
#[cfg(feature = "share")]
written!(&mut crate::slice_guard::SliceGuardMut<'_, U>);

macro_rules! matrices {
    ($($read:ty, $written:ty;)*) => {$(
        // SAFETY: a slice, and the extents by value.
        unsafe impl<T: Element, U: HostType<T>> Argument<Matrix<T>> for $read {
            fn pack(self, packed: &mut PackedArguments) {
                let [rows, cols] = self.sides();
                packed.push_slice::<T>(self.address(), rows as usize * cols as usize);
                packed.push([rows, cols]);
            }
        }
        // SAFETY: a borrow forbids others to write.
        unsafe impl<T: Element, U: HostType<T>> SafeArgument<Matrix<T>> for $read {
            fn extents(&self) -> Extents {
                matrix_of(self.sides())
            }
        }

        // SAFETY: a pointer, and the extents by value.
        unsafe impl<T: Element, U: HostType<T>, M: MatrixMap> Argument<MatrixMut<T, M>> for $written {
            fn pack(self, packed: &mut PackedArguments) {
                packed.push(self.address());
                packed.push(self.sides());
            }
        }
        // SAFETY: a mutable borrow forbids others to reach it.
        unsafe impl<T: Element, U: HostType<T>, M: MatrixMap> SafeArgument<MatrixMut<T, M>> for $written {
            fn grid_requirement(&self, _: usize) -> Option<GridRequirement> {
                let [rows, cols] = self.sides();
                Some(M::grid_requirement(rows as usize, cols as usize))
            }

            fn extents(&self) -> Extents {
                matrix_of(self.sides())
            }
        }
    )*};
}
matrices! {
    &DeviceMatrix<U>, &mut DeviceMatrix<U>;
    MatrixSlice<'_, U>, MatrixSliceMut<'_, U>;
    &MatrixSliceMut<'_, U>, &mut MatrixSliceMut<'_, U>;
}

fn matrix_of([rows, cols]: [u32; 2]) -> Extents {
    Extents::matrix(rows as usize, cols as usize)
}

/// A tuple of host values, one for each of a kernel's parameters.
///
/// # Safety
/// Each is a [`SafeArgument`].
#[diagnostic::on_unimplemented(
    message = "these arguments are not one for each parameter of the kernel: `{P}`",
    label = "the kernel takes `{P}`",
    note = "arguments are a tuple in the parameters' order; one alone is written `(argument,)`"
)]
pub unsafe trait SafeArguments<P>: Arguments<P> {
    /// The requirement of each on the grid.
    fn grid_requirements(&self, threads: usize) -> Vec<Option<GridRequirement>>;

    /// The extents of each.
    fn extents(&self) -> Vec<Extents>;
}

macro_rules! tuples {
    ($($argument:ident $parameter:ident),*) => {
        // SAFETY: each is one.
        unsafe impl<$($argument: SafeArgument<$parameter>, $parameter),*> SafeArguments<($($parameter,)*)> for ($($argument,)*) {
            #[allow(non_snake_case, unused_variables)]
            fn grid_requirements(&self, threads: usize) -> Vec<Option<GridRequirement>> {
                let ($($argument,)*) = self;
                vec![$($argument.grid_requirement(threads)),*]
            }

            #[allow(non_snake_case)]
            fn extents(&self) -> Vec<Extents> {
                let ($($argument,)*) = self;
                vec![$($argument.extents()),*]
            }
        }
        tuples!(@shorter $($argument $parameter),*);
    };
    (@shorter) => {};
    (@shorter $argument:ident $parameter:ident $(, $arguments:ident $parameters:ident)*) => {
        tuples!($($arguments $parameters),*);
    };
}
tuples!(A P, B Q, C R, D S, E T, F U, G V, H W, I X, J Y, K Z, L P2, M Q2, N R2, O S2, AA T2);
