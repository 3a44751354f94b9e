//! Device memory that safe launches may be lent.
//!
//! `cust`'s `DeviceBuffer` says too little for that. Its `DeviceSlice` is `Copy`, so that a borrow of one says nothing about
//! its copies; `DeviceBuffer::cast` frees what it returns; and a buffer may outlive the context that its memory is of. A
//! [`Buffer`] is the same memory without these: only a borrow leads to it, and it keeps its context.

use std::mem::ManuallyDrop;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use bytemuck::Zeroable;
use cust::error::CudaResult;
use cust::memory::{AsyncCopyDestination, DeviceBuffer, DeviceCopy, DevicePointer};

use crate::buffer_slice::{BufferSlice, BufferSliceMut};
use crate::capture::refuse;
use crate::device::{Device, DeviceContext};
use crate::error::{Error, ErrorContext};

/// Elements in a device's memory. [`Device::upload`] and [`Device::zeroed`] make one.
///
/// Safe launches read it through `&Buffer`, and write it through `&mut Buffer`; parts of it are a [`BufferSlice`] and a
/// [`BufferSliceMut`]. What `cust` does with its own buffers needs `unsafe` here: [`as_cust`](Self::as_cust).
///
/// ```
/// use warpsmith_launch::{Device, DevicePreference};
///
/// # fn main() -> Result<(), warpsmith_launch::Error> {
/// let device = Device::open(DevicePreference::Virtual)?;
/// let mut buffer = device.upload(&[1u32, 2, 3])?;
/// buffer.write(&[4, 5, 6])?;
/// drop(device); // its context stays as long as the buffer
/// assert_eq!(buffer.to_vec()?, [4, 5, 6]);
/// # Ok(())
/// # }
/// ```
pub struct Buffer<T: DeviceCopy> {
    /// Freed before the context goes, and with it current.
    memory: ManuallyDrop<DeviceBuffer<T>>,
    device_context: Arc<DeviceContext>,
}

impl<T: DeviceCopy> Buffer<T> {
    /// A buffer of elements that nothing has written.
    ///
    /// # Safety
    /// Every element is written before it is read.
    unsafe fn uninitialized(device_context: &Arc<DeviceContext>, len: usize) -> CudaResult<Self> {
        let _current = device_context.enter()?;
        // SAFETY: the caller's promise.
        let memory = unsafe { DeviceBuffer::uninitialized(len) }?;
        Ok(Self { memory: ManuallyDrop::new(memory), device_context: device_context.clone() })
    }

    /// Takes a buffer of `cust`'s.
    ///
    /// # Safety
    /// Its memory is of the device's context, every element is a value, and nothing else reaches it any more: no copy of its
    /// `DeviceSlice`, and no work in flight. It was not made by `DeviceBuffer::cast`.
    pub unsafe fn from_cust(device: &Device, buffer: DeviceBuffer<T>) -> Self {
        Self { memory: ManuallyDrop::new(buffer), device_context: device.device_context().clone() }
    }

    /// Its memory as `cust`'s buffer.
    ///
    /// # Safety
    /// No copy of its `DeviceSlice` is used after this borrow has ended, nor is it written.
    pub unsafe fn as_cust(&self) -> &DeviceBuffer<T> {
        &self.memory
    }

    /// Its memory as `cust`'s buffer, to be written.
    ///
    /// # Safety
    /// No copy of its `DeviceSlice` is used after this borrow has ended, it is not replaced, and what work in flight does to it
    /// ends before.
    pub unsafe fn as_cust_mut(&mut self) -> &mut DeviceBuffer<T> {
        &mut self.memory
    }

    /// Its number of elements.
    pub fn len(&self) -> usize {
        self.memory.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The address of its first element. Only `unsafe` code can use it.
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        self.memory.as_device_ptr()
    }

    /// Copies as many elements to it as it has, after what its device's stream was given before.
    pub fn write(&mut self, elements: &[T]) -> Result<(), Error> {
        if elements.len() != self.len() {
            return Err(Error::Length { given: elements.len(), has: self.len() });
        }
        refuse(&self.device_context, || "copy to the device".into())?;
        self.fill_from(elements).context("copy to the device")
    }

    fn fill_from(&mut self, elements: &[T]) -> CudaResult<()> {
        let _current = self.device_context.enter()?;
        // SAFETY: both are borrowed until the stream has been waited for.
        let copied = unsafe { self.memory.async_copy_from(elements, self.device_context.stream.cust()) };
        self.device_context.stream.finish()?;
        copied
    }

    /// Its elements on the host, after what its device's stream was given before.
    pub fn to_vec(&self) -> Result<Vec<T>, Error> {
        self.slice(..).to_vec()
    }

    /// A part of it, to be read.
    ///
    /// # Panics
    /// If the range goes beyond it.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> BufferSlice<'_, T> {
        BufferSlice::from(self).slice(range)
    }

    /// A part of it, to be written.
    ///
    /// # Panics
    /// If the range goes beyond it.
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> BufferSliceMut<'_, T> {
        BufferSliceMut::from(self).slice_mut(range)
    }

    /// Two parts of it that have no element in common: the first `mid` elements, and the others.
    ///
    /// # Panics
    /// If `mid` is beyond its end.
    pub fn split_at_mut(&mut self, mid: usize) -> (BufferSliceMut<'_, T>, BufferSliceMut<'_, T>) {
        BufferSliceMut::from(self).split_at_mut(mid)
    }

    pub(crate) fn device_context(&self) -> &Arc<DeviceContext> {
        &self.device_context
    }
}

impl<T: DeviceCopy> Drop for Buffer<T> {
    fn drop(&mut self) {
        // If the context is lost, its memory is, too.
        let _current = self.device_context.enter();
        // SAFETY: it is not used again.
        unsafe { ManuallyDrop::drop(&mut self.memory) };
    }
}

impl Device {
    /// Copies elements to a buffer of their own on the device.
    pub fn upload<T: DeviceCopy>(&self, elements: &[T]) -> Result<Buffer<T>, Error> {
        let task = || format!("copy {} elements to the device", elements.len());
        refuse(self.device_context(), task)?;
        // SAFETY: it is written below, in full.
        let buffer = unsafe { Buffer::uninitialized(self.device_context(), elements.len()) };
        buffer.and_then(|mut buffer| buffer.fill_from(elements).map(|()| buffer)).context(task())
    }

    /// A buffer of zeros on the device.
    pub fn zeroed<T: DeviceCopy + Zeroable>(&self, len: usize) -> Result<Buffer<T>, Error> {
        let task = || format!("make room for {len} elements on the device");
        refuse(self.device_context(), task)?;
        // SAFETY: it is written below, in full.
        let buffer = unsafe { Buffer::<T>::uninitialized(self.device_context(), len) };
        let zeros = |mut buffer: Buffer<T>| {
            let _current = buffer.device_context.enter()?;
            // SAFETY: it is borrowed until the stream has been waited for, and zeros are values.
            let filled = unsafe { buffer.memory.set_zero_async(buffer.device_context.stream.cust()) };
            buffer.device_context.stream.finish()?;
            drop(_current);
            filled.map(|()| buffer)
        };
        buffer.and_then(zeros).context(task())
    }

    /// Copies a buffer's elements, or a matrix's row by row, to the host.
    pub fn download<T: DeviceCopy>(&self, buffer: &impl AsRef<Buffer<T>>) -> Result<Vec<T>, Error> {
        buffer.as_ref().to_vec()
    }
}

impl<T: DeviceCopy> AsRef<Buffer<T>> for Buffer<T> {
    fn as_ref(&self) -> &Buffer<T> {
        self
    }
}

/// Start and end of a range in `len` elements.
pub(crate) fn bounds(range: impl RangeBounds<usize>, len: usize) -> (usize, usize) {
    let start = match range.start_bound() {
        Bound::Included(&start) => start,
        Bound::Excluded(&before) => before.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&last) => last.saturating_add(1),
        Bound::Excluded(&end) => end,
        Bound::Unbounded => len,
    };
    assert!(start <= end && end <= len, "elements {start}..{end} of a buffer of {len}");
    (start, end)
}
