//! Scans.

use cuda_std::Kernel;
use cust::memory::{DeviceCopy, DeviceSlice};
use kernels_gpu::base::primitives::scan::scan;
use kernels_gpu::primitives::scan::{BLOCK, Signature};
use warpsmith_launch::{BufferSlice, BufferSliceMut, HostType, Levels};

use super::{Element, Operation, Primitives};
use crate::plan::Plan;
use crate::{Error, LEVELS, finished};

impl Primitives<'_> {
    /// The value by an operation of all elements up to each one, in the same element of `to`. Sums of floats may differ in their
    /// last bits from one call to the next: they are added in the order in which blocks find each other's.
    pub fn inclusive_scan<'b, O, T, V>(
        &self,
        operation: O,
        from: impl Into<BufferSlice<'b, T>>,
        to: impl Into<BufferSliceMut<'b, V>>,
    ) -> Result<Plan, Error>
    where
        T: Element,
        V: DeviceCopy + 'static,
        O: Operation<T::Device, Value = V>,
        scan<T::Device, O>: Kernel<Signature = Signature<T::Device, V>> + 'static,
    {
        let _ = operation;
        // SAFETY: the library's own kernel of the operation, and `LEVELS` are what it was compiled to.
        unsafe { self.scan_by::<scan<T::Device, O>, _, _, _>(&LEVELS, false, from, to) }
    }

    /// The same of all elements before each one: the first is the operation's identity.
    pub fn exclusive_scan<'b, O, T, V>(
        &self,
        operation: O,
        from: impl Into<BufferSlice<'b, T>>,
        to: impl Into<BufferSliceMut<'b, V>>,
    ) -> Result<Plan, Error>
    where
        T: Element,
        V: DeviceCopy + 'static,
        O: Operation<T::Device, Value = V>,
        scan<T::Device, O>: Kernel<Signature = Signature<T::Device, V>> + 'static,
    {
        let _ = operation;
        // SAFETY: as of `inclusive_scan`.
        unsafe { self.scan_by::<scan<T::Device, O>, _, _, _>(&LEVELS, true, from, to) }
    }

    /// A scan by a kernel of one's own crate, made with [`scan!`](kernels_gpu::scan).
    ///
    /// # Safety
    /// `K` is a kernel of that macro, `levels` are what its crate was compiled to, and the operation's values have no padding.
    pub unsafe fn scan_by<'b, K, D, T, V>(
        &self,
        levels: &Levels,
        is_exclusive: bool,
        from: impl Into<BufferSlice<'b, T>>,
        to: impl Into<BufferSliceMut<'b, V>>,
    ) -> Result<Plan, Error>
    where
        K: Kernel<Signature = Signature<D, V>>,
        T: HostType<D>,
        D: 'static,
        V: DeviceCopy + 'static,
    {
        let (from, mut to) = (from.into(), to.into());
        // SAFETY: both are borrowed until the device has been waited for; the rest is the caller's promise.
        finished(self.device, unsafe {
            self.scan_async::<K, D, T, V>(levels, is_exclusive, from.as_cust(), to.as_cust_mut())
        })
    }

    /// [`scan_by`](Self::scan_by) of `cust`'s buffers, put on the device's stream.
    ///
    /// # Safety
    /// As of [`scan_by`](Self::scan_by), and until the stream has done it, both stay where they are, and nothing else writes `from` or
    /// reaches `to`.
    pub unsafe fn scan_async<K, D, T, V>(
        &self,
        levels: &Levels,
        is_exclusive: bool,
        from: &DeviceSlice<T>,
        to: &mut DeviceSlice<V>,
    ) -> Result<Plan, Error>
    where
        K: Kernel<Signature = Signature<D, V>>,
        T: HostType<D>,
        D: 'static,
        V: DeviceCopy + 'static,
    {
        super::refuse_shorter(to, from.len())?;
        let (plan, words) = self.tiles(K::NAME, (&*to, from.len()), BLOCK, size_of::<V>() / 4)?;
        let arguments = (from, to, u32::from(is_exclusive), words);
        // SAFETY: there is room for each element, and a look-back's memory for each tile; nothing else of this stream uses it
        // meanwhile; the rest is the caller's promise.
        unsafe { self.device.kernel::<K>(levels)?.launch(plan.shape, arguments)? };
        Ok(plan)
    }
}

#[cfg(test)]
mod tests {
    use cust::memory::CopyDestination;
    use kernels_gpu::primitives::look_back::{HEAD, LAUNCHES};
    use warpsmith_launch::{Device, DevicePreference};

    use super::super::{Primitives, Sum};

    #[test]
    fn launches_are_told_apart_when_their_numbers_begin_anew() {
        let device = Device::open(DevicePreference::Virtual).unwrap();
        let primitives = Primitives::new(&device);
        let scanned = |elements: usize| {
            let (x, mut to) =
                (device.upload(&vec![1u32; elements]).unwrap(), device.zeroed::<u32>(elements).unwrap());
            primitives.inclusive_scan(Sum, &x, &mut to).unwrap();
            assert!(device.download(&to).unwrap().into_iter().eq(1..=elements as u32));
        };
        // 62 tiles, for which there is room for 64 states.
        scanned(500_000);
        // The last launch of all numbers, with states that it and the next ones left at the last turn.
        let mut words = vec![(LAUNCHES as u64 - 1) << 32, 64];
        words.resize(HEAD, 0);
        let stale = |launch: u64| launch << 2 | 2 | 77 << 24;
        words.extend(
            (0..64).map(|state| stale(if state < 32 { LAUNCHES as u64 - 1 } else { 1 + state as u64 % 4 })),
        );
        let mut chain = primitives.chain.borrow_mut();
        // SAFETY: nothing is launched meanwhile.
        let there = unsafe { chain.as_mut().unwrap().as_cust_mut() };
        there.index(..words.len()).copy_from(&words).unwrap();
        drop(chain);
        // One tile, the first, which waits for none; then as many as there are.
        for elements in [1, 500_000, 1, 500_000] {
            scanned(elements);
        }
    }
}
