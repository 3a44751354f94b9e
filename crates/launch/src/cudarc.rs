//! Launches on the streams of [cudarc](https://docs.rs/cudarc), with its slices and views, without a copy and in its own context.
//!
//! One module for each version of cudarc, chosen by a feature: `cudarc_017`, `cudarc_018`, `cudarc_019`. Each has the same
//! functions: `device` shares a stream and its context, `read` and `write` lend a slice or view to scopes, raw launches and the
//! library's calls.
//!
//! ```ignore
//! use warpsmith::launch::cudarc::v019 as share;
//!
//! let stream = CudaContext::new(0)?.default_stream();
//! let x = stream.clone_htod(&[1.0f32; 1000])?;
//! let mut y = stream.alloc_zeros::<f32>(1000)?;
//!
//! let device = share::device(&stream)?;
//! let (from, mut to) = (share::read(&device, &x)?, share::write(&device, &mut y)?);
//! device.scope(|scope| scope.launch(kernels::double, (&from, &mut to)))?;
//! ```
//! cudarc's own order of streams stays: a guard waits for what other streams do to the slice, and they wait for what was
//! launched until the guard was dropped.

use crate::argument::HostType;

/// An element of a foreign slice, and the type that a [`Buffer`](crate::Buffer) has for it: itself, or for `half`'s floats [`F16`](crate::F16) and
/// [`Bf16`](crate::Bf16).
///
/// A `Copy` type of your own is lent as itself:
///
/// ```
/// use warpsmith_launch::{cudarc::Lend, cust::memory::DeviceCopy};
///
/// #[derive(Clone, Copy)]
/// #[repr(C)]
/// struct Body {
///     place: [f32; 3],
///     mass: f32,
/// }
/// // SAFETY: numbers alone.
/// unsafe impl DeviceCopy for Body {}
///
/// impl Lend for Body {
///     type As = Body;
/// }
/// ```
pub trait Lend: Sized {
    /// The element in this crate's slices.
    type As: HostType<Self>;
}

macro_rules! lent {
    ($($number:ty => $as:ty;)*) => {$(
        impl Lend for $number {
            type As = $as;
        }
    )*};
}
lent! {
    u8 => u8; u16 => u16; u32 => u32; u64 => u64; i8 => i8; i16 => i16; i32 => i32; i64 => i64; usize => usize; isize => isize;
    f32 => f32; f64 => f64; half::f16 => crate::F16; half::bf16 => crate::Bf16;
}

macro_rules! version {
    ($(#[$doc:meta])* $module:ident, $feature:literal, $cudarc:ident) => {
        $(#[$doc])*
        #[cfg(feature = $feature)]
        pub mod $module {
            use std::sync::Arc;

            use $cudarc::driver::{CudaSlice, CudaStream, CudaView, CudaViewMut, DevicePtr, DevicePtrMut};

            use super::Lend;
            use crate::buffer_slice::{BufferSlice, BufferSliceMut};
            use crate::device::Device;
            use crate::error::Error;
            use crate::slice_guard::{SliceGuard, SliceGuardMut};

            /// Shares a stream's device: launches run on that stream, in its context.
            ///
            /// Modules are loaded once for each `Device`: make one, and keep it.
            pub fn device(stream: &Arc<CudaStream>) -> Result<Device, Error> {
                let context = stream.context();
                let index = u32::try_from(context.ordinal()).expect("devices are counted in 32 bits");
                // SAFETY: the stream keeps its context, and is kept; that the context is the device's primary one is
                // compared below, before anything is launched.
                let device = unsafe { Device::share(index, stream.cu_stream().cast(), Arc::new(stream.clone())) }?;
                if device.context().as_raw().cast() != context.cu_ctx() {
                    return Err(Error::Shared("the stream's context is not its device's primary one; `CudaContext::new` \
                        makes that".into()));
                }
                Ok(device)
            }

            fn stream_of(device: &Device) -> Result<&Arc<CudaStream>, Error> {
                let owner = device.stream().owner().and_then(|owner| owner.downcast_ref());
                owner.ok_or_else(|| {
                    Error::Shared(concat!("the device was not made by `cudarc::", stringify!($module), "::device`").into())
                })
            }

            fn same_context(of: &CudaStream, device: &CudaStream) -> Result<(), Error> {
                let [of, device] = [of, device].map(|stream| stream.context());
                if of.cu_ctx() == device.cu_ctx() {
                    return Ok(());
                }
                let (of, device) = (of.ordinal(), device.ordinal());
                Err(Error::Shared(format!("the slice is of device {of}, and the launches are of device {device}")))
            }

            /// Memory of cudarc's own: others may implement its traits, and safe code would trust what they say.
            ///
            /// # Safety
            /// Its pointer and length are those of elements that it borrows or owns.
            pub unsafe trait Source<T>: DevicePtr<T> {}
            // SAFETY: cudarc allocated it.
            unsafe impl<T> Source<T> for CudaSlice<T> {}
            // SAFETY: a part of such a slice.
            unsafe impl<T> Source<T> for CudaView<'_, T> {}
            // SAFETY: a part of such a slice.
            unsafe impl<T> Source<T> for CudaViewMut<'_, T> {}

            /// Such memory that is written.
            ///
            /// # Safety
            /// As [`Source`], and nothing else reaches the elements.
            pub unsafe trait Target<T>: DevicePtrMut<T> {}
            // SAFETY: cudarc allocated it.
            unsafe impl<T> Target<T> for CudaSlice<T> {}
            // SAFETY: a part of such a slice, borrowed mutably.
            unsafe impl<T> Target<T> for CudaViewMut<'_, T> {}

            /// Lends a slice or view to launches that read it.
            pub fn read<'b, T: Lend>(
                device: &'b Device,
                slice: &'b impl Source<T>,
            ) -> Result<SliceGuard<'b, T::As>, Error> {
                let stream = stream_of(device)?;
                same_context(slice.stream(), stream)?;
                let (address, recorded) = slice.device_ptr(stream);
                // SAFETY: the elements are of the device's context, borrowed, and values of a type with the same bits.
                let slice = unsafe { BufferSlice::from_raw(device, address, slice.len()) };
                Ok(SliceGuard { slice, _after: Box::new(recorded) })
            }

            /// Lends a slice or view to launches that write it.
            pub fn write<'b, T: Lend>(
                device: &'b Device,
                slice: &'b mut impl Target<T>,
            ) -> Result<SliceGuardMut<'b, T::As>, Error> {
                let stream = stream_of(device)?;
                same_context(slice.stream(), stream)?;
                let len = slice.len();
                let (address, recorded) = slice.device_ptr_mut(stream);
                // SAFETY: the elements are of the device's context, borrowed mutably, and values of a type with the same
                // bits.
                let slice = unsafe { BufferSliceMut::from_raw(device, address, len) };
                Ok(SliceGuardMut { slice, _after: Box::new(recorded) })
            }
        }
    };
}
version!(
    /// For cudarc 0.17.
    v017, "cudarc_017", cudarc_017
);
version!(
    /// For cudarc 0.18.
    v018, "cudarc_018", cudarc_018
);
version!(
    /// For cudarc 0.19.
    v019, "cudarc_019", cudarc_019
);
