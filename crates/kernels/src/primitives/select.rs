//! Selections and partitions.

use cuda_std::Kernel;
use cust::memory::{DeviceCopy, DevicePointer, DeviceSlice};
use kernels_gpu::base::primitives::select::{select_first, select_flagged};
use kernels_gpu::primitives::select::BLOCK;
use warpsmith_launch::{BufferSlice, BufferSliceMut, HostType, Levels};

use super::{Element, Primitives};
use crate::plan::Plan;
use crate::{Error, LEVELS, finished};

/// The signature of selections by flags.
type ByFlags<D> = fn(&'static [D], *const u8, *mut D, *mut D, *mut u64, *mut u64);
/// The signature of the first of equal elements.
type OfFirst<D> = fn(&'static [D], *mut D, *mut u64, *mut u64);
/// The signature of selections by a predicate.
type ByPredicate<D> = fn(&'static [D], *mut D, *mut D, *mut u64, *mut u64);

impl Primitives<'_> {
    /// The elements whose flags are not 0, in their order, at the begin of `to`, which has room for all; and their number in the first
    /// element of `count`.
    ///
    /// ```
    /// use warpsmith_kernels::primitives::Primitives;
    /// use warpsmith_launch::{Device, DevicePreference};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let device = Device::open(DevicePreference::Virtual)?;
    /// let (x, flags) = (device.upload(&[5u32, 6, 7])?, device.upload(&[1u8, 0, 1])?);
    /// let (mut to, mut count) = (device.zeroed::<u32>(3)?, device.zeroed::<u64>(1)?);
    /// Primitives::new(&device).select(&flags, &x, &mut to, &mut count)?;
    /// assert_eq!((device.download(&to)?, device.download(&count)?), (vec![5, 7, 0], vec![2]));
    /// # Ok(()) }
    /// ```
    pub fn select<'b, T>(
        &self,
        flags: impl Into<BufferSlice<'b, u8>>,
        from: impl Into<BufferSlice<'b, T>>,
        to: impl Into<BufferSliceMut<'b, T>>,
        count: impl Into<BufferSliceMut<'b, u64>>,
    ) -> Result<Plan, Error>
    where
        T: Element,
        select_flagged<T::Device>: Kernel<Signature = ByFlags<T::Device>> + 'static,
    {
        let (flags, from, mut to, mut count) = (flags.into(), from.into(), to.into(), count.into());
        // SAFETY: all are borrowed until the device has been waited for.
        finished(self.device, unsafe {
            self.flagged_async(flags.as_cust(), from.as_cust(), to.as_cust_mut(), None, count.as_cust_mut())
        })
    }

    /// The same, and the other elements in `others`, in their order, too.
    pub fn partition<'b, T>(
        &self,
        flags: impl Into<BufferSlice<'b, u8>>,
        from: impl Into<BufferSlice<'b, T>>,
        to: impl Into<BufferSliceMut<'b, T>>,
        others: impl Into<BufferSliceMut<'b, T>>,
        count: impl Into<BufferSliceMut<'b, u64>>,
    ) -> Result<Plan, Error>
    where
        T: Element,
        select_flagged<T::Device>: Kernel<Signature = ByFlags<T::Device>> + 'static,
    {
        let (flags, from, mut to, mut count) = (flags.into(), from.into(), to.into(), count.into());
        let mut others = others.into();
        // SAFETY: as of `select`.
        finished(self.device, unsafe {
            self.flagged_async(
                flags.as_cust(),
                from.as_cust(),
                to.as_cust_mut(),
                Some(others.as_cust_mut()),
                count.as_cust_mut(),
            )
        })
    }

    /// [`select`](Self::select) or, with room for the others, [`partition`](Self::partition) of `cust`'s buffers, put on the device's stream.
    ///
    /// # Safety
    /// Until the stream has done it, all stay where they are, nothing else writes `flags` and `from` or reaches the others.
    pub unsafe fn flagged_async<T>(
        &self,
        flags: &DeviceSlice<u8>,
        from: &DeviceSlice<T>,
        to: &mut DeviceSlice<T>,
        others: Option<&mut DeviceSlice<T>>,
        count: &mut DeviceSlice<u64>,
    ) -> Result<Plan, Error>
    where
        T: Element,
        select_flagged<T::Device>: Kernel<Signature = ByFlags<T::Device>> + 'static,
    {
        let others = room(from.len(), to, others, count)?;
        if flags.len() < from.len() {
            let message = format!("{} elements need a flag each, there are {}", from.len(), flags.len());
            return Err(Error::Primitive(message));
        }
        let (plan, words) =
            self.tiles(<select_flagged<T::Device> as Kernel>::NAME, (from, from.len()), BLOCK, 1)?;
        let kernel = self.device.kernel::<select_flagged<T::Device>>(&LEVELS)?;
        // SAFETY: there is a flag for each element, and room for all that go somewhere; nothing else of this stream uses the look-back's
        // words meanwhile; the rest is the caller's promise.
        unsafe { kernel.launch(plan.shape, (from, flags.as_device_ptr(), to, others, count, words))? };
        Ok(plan)
    }

    /// The first of equal elements that follow each other, at the begin of `to`, which has room for all; and their number in the first
    /// element of `count`. NaN equals nothing.
    pub fn unique<'b, T>(
        &self,
        from: impl Into<BufferSlice<'b, T>>,
        to: impl Into<BufferSliceMut<'b, T>>,
        count: impl Into<BufferSliceMut<'b, u64>>,
    ) -> Result<Plan, Error>
    where
        T: Element,
        select_first<T::Device>: Kernel<Signature = OfFirst<T::Device>> + 'static,
    {
        let (from, mut to, mut count) = (from.into(), to.into(), count.into());
        // SAFETY: as of `select`.
        finished(self.device, unsafe {
            self.unique_async(from.as_cust(), to.as_cust_mut(), count.as_cust_mut())
        })
    }

    /// [`unique`](Self::unique) of `cust`'s buffers, put on the device's stream.
    ///
    /// # Safety
    /// Until the stream has done it, all stay where they are, and nothing else writes `from` or reaches the others.
    pub unsafe fn unique_async<T>(
        &self,
        from: &DeviceSlice<T>,
        to: &mut DeviceSlice<T>,
        count: &mut DeviceSlice<u64>,
    ) -> Result<Plan, Error>
    where
        T: Element,
        select_first<T::Device>: Kernel<Signature = OfFirst<T::Device>> + 'static,
    {
        room(from.len(), to, None, count)?;
        let (plan, words) =
            self.tiles(<select_first<T::Device> as Kernel>::NAME, (from, from.len()), BLOCK, 1)?;
        let kernel = self.device.kernel::<select_first<T::Device>>(&LEVELS)?;
        // SAFETY: as of `flagged_async`.
        unsafe { kernel.launch(plan.shape, (from, to, count, words))? };
        Ok(plan)
    }

    /// The elements for which a predicate holds, and the others, if there is room for them, by a kernel of one's own crate, made with
    /// [`selection!`](kernels_gpu::selection).
    ///
    /// # Safety
    /// `K` is a kernel of that macro, and `levels` are what its crate was compiled to.
    pub unsafe fn select_by<'b, K, D, T>(
        &self,
        levels: &Levels,
        from: impl Into<BufferSlice<'b, T>>,
        to: impl Into<BufferSliceMut<'b, T>>,
        others: Option<BufferSliceMut<'b, T>>,
        count: impl Into<BufferSliceMut<'b, u64>>,
    ) -> Result<Plan, Error>
    where
        K: Kernel<Signature = ByPredicate<D>>,
        T: HostType<D>,
        D: 'static,
    {
        let (from, mut to, mut others, mut count) = (from.into(), to.into(), others, count.into());
        // SAFETY: all are borrowed until the device has been waited for.
        let (from, to, others, count) = unsafe {
            let others = others.as_mut().map(|others| others.as_cust_mut());
            (from.as_cust(), to.as_cust_mut(), others, count.as_cust_mut())
        };
        let launch = || {
            let others = room(from.len(), to, others, count)?;
            let (plan, words) = self.tiles(K::NAME, (from, from.len()), BLOCK, 1)?;
            // SAFETY: as of `flagged_async`.
            unsafe { self.device.kernel::<K>(levels)?.launch(plan.shape, (from, to, others, count, words))? };
            Ok(plan)
        };
        finished(self.device, launch())
    }
}

/// Where the others go, or null, after a look at all lengths.
fn room<T: DeviceCopy>(
    elements: usize,
    to: &DeviceSlice<T>,
    others: Option<&mut DeviceSlice<T>>,
    count: &DeviceSlice<u64>,
) -> Result<DevicePointer<T>, Error> {
    super::refuse_shorter(to, elements)?;
    super::refuse_shorter(count, 1)?;
    let Some(others) = others else { return Ok(DevicePointer::null()) };
    super::refuse_shorter(others, elements)?;
    Ok(others.as_device_ptr())
}
