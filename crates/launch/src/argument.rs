//! Arguments of launches: host values for a kernel's parameters, packed as the PTX has them.

use std::ffi::c_void;

use cust::memory::{DeviceBuffer, DeviceCopy, DevicePointer, DeviceSlice};

use crate::buffer::Buffer;
use crate::buffer_slice::{BufferSlice, BufferSliceMut};
use crate::float16::{Bf16, F16};

/// The values of a launch, in the order of the PTX parameters. Only this crate's [`Argument`]s append to it.
#[derive(Default)]
pub struct PackedArguments {
    /// Each begins at a multiple of 16, the largest alignment of a scalar parameter.
    words: Vec<u128>,
    starts: Vec<usize>,
}

impl PackedArguments {
    /// Appends a value; one without size is no parameter.
    pub(crate) fn push<T: Copy>(&mut self, value: T) {
        let size = size_of::<T>();
        if size == 0 {
            return;
        }
        self.starts.push(self.words.len());
        self.words.resize(self.words.len() + size.div_ceil(16), 0);
        let start = self.starts[self.starts.len() - 1];
        // SAFETY: room for the value was made just now; alignment is not asked for.
        unsafe { self.words[start..].as_mut_ptr().cast::<T>().write_unaligned(value) };
    }

    /// Appends a slice: where it lies, and how many elements it has. The memory of an empty buffer lies at zero, and no reference
    /// does: `Some(x).is_none()` would be true of it.
    pub(crate) fn push_slice<T>(&mut self, address: u64, len: usize) {
        self.push(if address == 0 { align_of::<T>() as u64 } else { address });
        self.push(len as u64);
    }

    /// The address of each value, as the driver takes it.
    pub(crate) fn pointers(&mut self) -> Vec<*mut c_void> {
        self.starts.iter().map(|&start| (&raw mut self.words[start]).cast()).collect()
    }
}

/// A host value for a kernel's parameter of type `P`.
///
/// | parameter | argument |
/// | --- | --- |
/// | a number, or a `Copy` type by value | itself |
/// | `&[T]` | `&Buffer<T>`, `BufferSlice<T>`; of `cust`, `&DeviceBuffer<T>`, `&DeviceSlice<T>` |
/// | `*mut T` | `&mut Buffer<T>`, `BufferSliceMut<T>`; of `cust`, `&mut DeviceBuffer<T>`, `&mut DeviceSlice<T>`, `DevicePointer<T>` |
/// | `*const T` | as for `&[T]`, and `DevicePointer<T>` |
/// | `&T` | `DevicePointer<T>` |
///
/// Where `T` is `half`'s `f16` or `bf16`, buffers hold [`F16`] or [`Bf16`].
///
/// A type of your own packs itself as one of these does:
///
/// ```
/// use warpsmith_launch::cust::memory::DeviceBuffer;
/// use warpsmith_launch::{Argument, PackedArguments};
///
/// struct Image {
///     pixels: DeviceBuffer<f32>,
/// }
///
/// // SAFETY: packs what a buffer packs for the same parameter.
/// unsafe impl Argument<&'static [f32]> for &Image {
///     fn pack(self, packed: &mut PackedArguments) {
///         Argument::<&'static [f32]>::pack(&self.pixels, packed);
///     }
/// }
/// ```
///
/// # Safety
/// [`pack`](Self::pack) appends the PTX parameters of `P`, each of its size, and nothing else; they are a `P` as far as the
/// kernel is concerned. So it cannot be implemented in safe code:
///
/// ```compile_fail,E0200
/// # use warpsmith_launch::{Argument, PackedArguments};
/// struct Nothing;
/// impl Argument<u64> for Nothing {
///     fn pack(self, _: &mut PackedArguments) {} // the driver would read 8 bytes that are not there
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "the kernel's parameter of type `{P}` does not take `{Self}`",
    label = "passed for a parameter of type `{P}`",
    note = "`&[T]` and `*const T` take `&Buffer<T>`, `*mut T` takes `&mut Buffer<T>`, a number or a `Copy` type takes itself; `T` must be the same type"
)]
pub unsafe trait Argument<P> {
    /// Appends the PTX parameters.
    fn pack(self, packed: &mut PackedArguments);
}

// SAFETY: a value by itself is one parameter of its size, or none if it has no size.
unsafe impl<T: DeviceCopy> Argument<T> for T {
    fn pack(self, packed: &mut PackedArguments) {
        packed.push(self);
    }
}

/// A host type whose bits are a device type `T`: `F16` for `half::f16`, each type for itself.
///
/// # Safety
/// Both have the same size and alignment, and the bits of one are the same value of the other.
#[diagnostic::on_unimplemented(
    message = "a buffer of `{Self}` is passed where the kernel has `{T}`",
    label = "its elements are `{Self}`, the kernel's are `{T}`"
)]
pub unsafe trait HostType<T>: DeviceCopy {}
// SAFETY: it is the same type.
unsafe impl<T: DeviceCopy> HostType<T> for T {}

macro_rules! transparent {
    ($($wrapper:ty: $number:ty;)*) => {$(
        // SAFETY: the wrapper is transparent.
        unsafe impl HostType<$number> for $wrapper {}

        // SAFETY: the wrapper is transparent.
        unsafe impl Argument<$number> for $wrapper {
            fn pack(self, packed: &mut PackedArguments) {
                packed.push(self);
            }
        }
    )*};
}
transparent! { F16: half::f16; Bf16: half::bf16; }

macro_rules! buffers {
    ($($buffer:ident)*) => {$(
        // SAFETY: a slice is two parameters, where it lies and how many elements it has.
        unsafe impl<T, U: HostType<T>> Argument<&'static [T]> for &$buffer<U> {
            fn pack(self, packed: &mut PackedArguments) {
                packed.push_slice::<T>(self.as_device_ptr().as_raw(), self.len());
            }
        }

        // SAFETY: a pointer is one parameter of 64 bits.
        unsafe impl<T, U: HostType<T>> Argument<*mut T> for &mut $buffer<U> {
            fn pack(self, packed: &mut PackedArguments) {
                packed.push(self.as_device_ptr().as_raw());
            }
        }

        // SAFETY: a pointer is one parameter of 64 bits.
        unsafe impl<T, U: HostType<T>> Argument<*const T> for &$buffer<U> {
            fn pack(self, packed: &mut PackedArguments) {
                packed.push(self.as_device_ptr().as_raw());
            }
        }
    )*};
}
buffers!(Buffer DeviceBuffer DeviceSlice);

// SAFETY: a slice is two parameters, where it lies and how many elements it has.
unsafe impl<T, U: HostType<T>> Argument<&'static [T]> for BufferSlice<'_, U> {
    fn pack(self, packed: &mut PackedArguments) {
        packed.push_slice::<T>(self.as_device_ptr().as_raw(), self.len());
    }
}

// SAFETY: a slice is two parameters, where it lies and how many elements it has.
unsafe impl<T, U: HostType<T>> Argument<&'static [T]> for &BufferSliceMut<'_, U> {
    fn pack(self, packed: &mut PackedArguments) {
        packed.push_slice::<T>(self.as_device_ptr().as_raw(), self.len());
    }
}

// SAFETY: a pointer is one parameter of 64 bits.
unsafe impl<T, U: HostType<T>> Argument<*mut T> for BufferSliceMut<'_, U> {
    fn pack(self, packed: &mut PackedArguments) {
        packed.push(self.as_device_ptr().as_raw());
    }
}

// SAFETY: a pointer is one parameter of 64 bits.
unsafe impl<T, U: HostType<T>> Argument<*const T> for BufferSlice<'_, U> {
    fn pack(self, packed: &mut PackedArguments) {
        packed.push(self.as_device_ptr().as_raw());
    }
}

#[cfg(feature = "share")]
mod guards {
    use super::{Argument, BufferSlice, BufferSliceMut, HostType, PackedArguments};
    use crate::slice_guard::{SliceGuard, SliceGuardMut};

    macro_rules! as_slices {
        ($($parameter:ty: $guard:ty, $slice:ident;)*) => {$(
            // SAFETY: packs what its slice packs.
            unsafe impl<T, U: HostType<T>> Argument<$parameter> for $guard {
                fn pack(self, packed: &mut PackedArguments) {
                    Argument::<$parameter>::pack($slice::from(self), packed);
                }
            }
        )*};
    }
    as_slices! {
        &'static [T]: &SliceGuard<'_, U>, BufferSlice;
        *const T: &SliceGuard<'_, U>, BufferSlice;
        *mut T: &mut SliceGuardMut<'_, U>, BufferSliceMut;
    }
}

macro_rules! pointers {
    ($($parameter:ty)*) => {$(
        // SAFETY: a pointer is one parameter of 64 bits.
        unsafe impl<T, U: HostType<T>> Argument<$parameter> for DevicePointer<U> {
            fn pack(self, packed: &mut PackedArguments) {
                packed.push(self.as_raw());
            }
        }
    )*};
}
pointers!(*mut T *const T &'static T);

/// A tuple of host values, one for each of a kernel's parameters. Wrong types and wrong counts do not compile.
///
/// ```
/// # use cuda_std::prelude::*;
/// # use warpsmith_launch::cust::memory::DeviceBuffer;
/// # use warpsmith_launch::{Error, Launcher, Shape};
/// #[kernel]
/// pub unsafe fn copy(offset: u32, from: &[f32], to: *mut f32) {}
///
/// fn launch(kernel: &Launcher<copy>, from: &DeviceBuffer<f32>, to: &mut DeviceBuffer<f32>) -> Result<(), Error> {
///     // SAFETY: `copy` does nothing.
///     unsafe { kernel.launch(Shape::line(from.len(), 256), (32u32, from, to)) }
/// }
/// ```
/// ```compile_fail,E0277
/// # use cuda_std::prelude::*;
/// # use warpsmith_launch::{Launcher, Shape, cust::memory::DeviceBuffer};
/// # #[kernel]
/// # pub unsafe fn copy(offset: u32, from: &[f32], to: *mut f32) {}
/// # fn launch(kernel: &Launcher<copy>, shape: Shape, from: &DeviceBuffer<f64>, to: &mut DeviceBuffer<f32>) {
/// let _ = unsafe { kernel.launch(shape, (32u32, from, to)) }; // `from` holds f64, the kernel reads f32
/// # }
/// ```
/// ```compile_fail,E0277
/// # use cuda_std::prelude::*;
/// # use warpsmith_launch::{Launcher, Shape, cust::memory::DeviceBuffer};
/// # #[kernel]
/// # pub unsafe fn copy(offset: u32, from: &[f32], to: *mut f32) {}
/// # fn launch(kernel: &Launcher<copy>, shape: Shape, from: &DeviceBuffer<f32>) {
/// let _ = unsafe { kernel.launch(shape, (32u32, from)) }; // the buffer to write is missing
/// # }
/// ```
/// ```compile_fail,E0277
/// # use cuda_std::prelude::*;
/// # use warpsmith_launch::{Launcher, Shape, cust::memory::DeviceBuffer};
/// # #[kernel]
/// # pub unsafe fn copy(offset: u32, from: &[f32], to: *mut f32) {}
/// # fn launch(kernel: &Launcher<copy>, shape: Shape, from: &DeviceBuffer<f32>, to: &DeviceBuffer<f32>) {
/// let _ = unsafe { kernel.launch(shape, (32u32, from, to)) }; // `to` is written, and must be borrowed for that
/// # }
/// ```
///
/// # Safety
/// [`pack`](Self::pack) appends the PTX parameters of the tuple `P`, in order, and nothing else.
#[diagnostic::on_unimplemented(
    message = "these arguments are not one for each parameter of the kernel: `{P}`",
    label = "the kernel takes `{P}`",
    note = "arguments are a tuple in the parameters' order; one alone is written `(argument,)`"
)]
pub unsafe trait Arguments<P> {
    /// Appends the PTX parameters of all.
    fn pack(self, packed: &mut PackedArguments);
}

macro_rules! tuples {
    ($($argument:ident $parameter:ident),*) => {
        // SAFETY: each argument appends its own parameters, in the tuple's order.
        unsafe impl<$($argument: Argument<$parameter>, $parameter),*> Arguments<($($parameter,)*)> for ($($argument,)*) {
            #[allow(non_snake_case, unused_variables)]
            fn pack(self, packed: &mut PackedArguments) {
                let ($($argument,)*) = self;
                $($argument.pack(packed);)*
            }
        }
        tuples!(@shorter $($argument $parameter),*);
    };
    (@shorter) => {};
    (@shorter $argument:ident $parameter:ident $(, $arguments:ident $parameters:ident)*) => {
        tuples!($($arguments $parameters),*);
    };
}
tuples!(
    A P, B Q, C R, D S, E T, F U, G V, H W, I X, J Y, K Z, L P2, M Q2, N R2, O S2, AA T2, BB U2, CC V2, DD W2, EE X2, FF Y2,
    GG Z2, HH P3, II Q3, JJ R3, KK S3, LL T3, MM U3, NN V3, OO W3, AB X3, AC Y3
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_packed_in_order_and_empty_ones_vanish() {
        #[derive(Clone, Copy)]
        struct Nothing;
        // SAFETY: it has no content.
        unsafe impl DeviceCopy for Nothing {}
        let mut packed = PackedArguments::default();
        Arguments::<(u8, Nothing, [u64; 3], f32)>::pack((7u8, Nothing, [1u64, 2, 3], 0.5f32), &mut packed);
        let pointers = packed.pointers();
        assert_eq!(pointers.len(), 3);
        // SAFETY: each points at a value of that type.
        unsafe {
            assert_eq!(pointers[0].cast::<u8>().read(), 7);
            assert_eq!(pointers[1].cast::<[u64; 3]>().read(), [1, 2, 3]);
            assert_eq!(pointers[2].cast::<f32>().read(), 0.5);
        }
    }
}
