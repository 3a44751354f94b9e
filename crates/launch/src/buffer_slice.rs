//! Parts of a [`Buffer`].

use std::ffi::c_void;
use std::ops::RangeBounds;
use std::sync::Arc;

use cust::memory::{DeviceCopy, DevicePointer, DeviceSlice};
use cust::sys;

use crate::buffer::{Buffer, bounds};
use crate::capture::refuse;
use crate::device::{Device, DeviceContext};
use crate::error::{Error, ErrorContext};
use crate::extra::result;

/// A slice of elements without a claim to them.
struct RawSlice<'b, T: DeviceCopy> {
    elements: DeviceSlice<T>,
    device_context: &'b Arc<DeviceContext>,
}

impl<T: DeviceCopy> Clone for RawSlice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: DeviceCopy> Copy for RawSlice<'_, T> {}

impl<T: DeviceCopy> RawSlice<'_, T> {
    fn part(self, range: impl RangeBounds<usize>) -> Self {
        let (start, end) = bounds(range, self.elements.len());
        Self { elements: self.elements.index(start..end), ..self }
    }

    fn to_vec(self) -> Result<Vec<T>, Error> {
        let len = self.elements.len();
        let mut copy: Vec<T> = Vec::with_capacity(len);
        let (bytes, stream) = (size_of::<T>() * len, &self.device_context.stream);
        let mut read = || {
            let _current = self.device_context.enter()?;
            let (to, from) = (copy.as_mut_ptr().cast::<c_void>(), self.elements.as_device_ptr().as_raw());
            // SAFETY: there is room for the bytes until the stream has been waited for, and the elements have them.
            let copied = result(unsafe { sys::cuMemcpyDtoHAsync_v2(to, from, bytes, stream.as_inner()) });
            stream.finish()?;
            copied
        };
        let task = || format!("copy {len} elements to the host");
        refuse(self.device_context, task)?;
        if bytes != 0 {
            read().context(task())?;
        }
        // SAFETY: they were copied, and are values, as on the device.
        unsafe { copy.set_len(len) };
        Ok(copy)
    }
}

/// Elements of a [`Buffer`] that safe launches may read.
pub struct BufferSlice<'b, T: DeviceCopy> {
    raw: RawSlice<'b, T>,
}

impl<T: DeviceCopy> Clone for BufferSlice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: DeviceCopy> Copy for BufferSlice<'_, T> {}

impl<'b, T: DeviceCopy> BufferSlice<'b, T> {
    /// Takes elements that `cust` has.
    ///
    /// # Safety
    /// As long as the slice is used, their memory is of the device's context and is not freed, they are values, and nothing
    /// writes them.
    pub unsafe fn from_cust(device: &'b Device, elements: &'b DeviceSlice<T>) -> Self {
        Self { raw: RawSlice { elements: elements.index(..), device_context: device.device_context() } }
    }

    /// Its elements as `cust`'s slice.
    ///
    /// # Safety
    /// No copy of it is used after this slice's borrow has ended, nor are they written.
    pub unsafe fn as_cust(&self) -> &DeviceSlice<T> {
        &self.raw.elements
    }

    /// A part of it.
    ///
    /// # Panics
    /// If the range goes beyond it.
    pub fn slice(self, range: impl RangeBounds<usize>) -> Self {
        Self { raw: self.raw.part(range) }
    }

    /// Its elements on the host, after what its device's stream was given before.
    pub fn to_vec(self) -> Result<Vec<T>, Error> {
        self.raw.to_vec()
    }
}

/// Elements of a [`Buffer`] that safe launches may write: no other slice holds them.
pub struct BufferSliceMut<'b, T: DeviceCopy> {
    raw: RawSlice<'b, T>,
}

impl<'b, T: DeviceCopy> BufferSliceMut<'b, T> {
    /// The same elements, to be read.
    pub fn as_slice(&self) -> BufferSlice<'_, T> {
        BufferSlice { raw: self.raw }
    }

    /// The number of its device.
    pub(crate) fn device(&self) -> usize {
        self.raw.device_context.number()
    }

    /// The same elements, for a shorter borrow.
    pub fn reborrow(&mut self) -> BufferSliceMut<'_, T> {
        BufferSliceMut { raw: self.raw }
    }

    /// Takes elements that `cust` has.
    ///
    /// # Safety
    /// As long as the slice is used, their memory is of the device's context and is not freed, they are values, and nothing
    /// else reaches them.
    pub unsafe fn from_cust(device: &'b Device, elements: &'b mut DeviceSlice<T>) -> Self {
        Self { raw: RawSlice { elements: elements.index(..), device_context: device.device_context() } }
    }

    /// Its elements as `cust`'s slice.
    ///
    /// # Safety
    /// No copy of it is used after this slice's borrow has ended, and what work in flight does to them ends before.
    pub unsafe fn as_cust_mut(&mut self) -> &mut DeviceSlice<T> {
        &mut self.raw.elements
    }

    /// A part of it.
    ///
    /// # Panics
    /// If the range goes beyond it.
    pub fn slice_mut(self, range: impl RangeBounds<usize>) -> Self {
        Self { raw: self.raw.part(range) }
    }

    /// Two parts of it that have no element in common: the first `mid` elements, and the others.
    ///
    /// # Panics
    /// If `mid` is beyond its end.
    pub fn split_at_mut(self, mid: usize) -> (Self, Self) {
        let [first, others] = [self.raw.part(..mid), self.raw.part(mid..)];
        (Self { raw: first }, Self { raw: others })
    }
}

macro_rules! slices {
    ($($slice:ident)*) => {$(
        impl<'b, T: DeviceCopy> $slice<'b, T> {
            /// Takes elements in memory of another library's.
            ///
            /// # Safety
            /// As `from_cust`.
            #[cfg(feature = "share")]
            pub(crate) unsafe fn from_raw(device: &'b Device, address: u64, len: usize) -> Self {
                // SAFETY: the caller's promise.
                let elements = unsafe { DeviceSlice::from_raw_parts(DevicePointer::from_raw(address), len) };
                Self { raw: RawSlice { elements, device_context: device.device_context() } }
            }

            /// Its number of elements.
            pub fn len(&self) -> usize {
                self.raw.elements.len()
            }

            /// Whether it has none.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// The address of its first element. Only `unsafe` code can use it.
            pub fn as_device_ptr(&self) -> DevicePointer<T> {
                self.raw.elements.as_device_ptr()
            }
        }
    )*};
}
slices!(BufferSlice BufferSliceMut);

impl<'b, T: DeviceCopy> From<&'b Buffer<T>> for BufferSlice<'b, T> {
    fn from(buffer: &'b Buffer<T>) -> Self {
        // SAFETY: the slice borrows the buffer, and is only read.
        let elements = unsafe { buffer.as_cust() }.index(..);
        Self { raw: RawSlice { elements, device_context: buffer.device_context() } }
    }
}

impl<'b, T: DeviceCopy> From<&'b mut Buffer<T>> for BufferSliceMut<'b, T> {
    fn from(buffer: &'b mut Buffer<T>) -> Self {
        // SAFETY: the slice borrows the buffer mutably.
        let elements = unsafe { buffer.as_cust() }.index(..);
        Self { raw: RawSlice { elements, device_context: buffer.device_context() } }
    }
}
