//! Reductions.

use cuda_std::Kernel;
use cust::memory::{DeviceCopy, DevicePointer, DeviceSlice};
use kernels_gpu::base::primitives::reduce::Reduced;
use kernels_gpu::primitives::reduce::{BLOCK, BLOCKS_A_SM, Signature};
use kernels_gpu::primitives::walk::per_load;
use warpsmith_launch::{BufferSlice, BufferSliceMut, HostType, Levels, Limits, Shape};

use super::{Element, Operation, Primitives};
use crate::plan::Plan;
use crate::{Error, LEVELS, finished};

impl Primitives<'_> {
    /// The value of all elements by an operation, in the first element of `to`: of none its identity. The same each time on one
    /// device; floats are added in an order of the kernel's own.
    pub fn reduce<'b, O, T, V>(
        &self,
        operation: O,
        from: impl Into<BufferSlice<'b, T>>,
        to: impl Into<BufferSliceMut<'b, V>>,
    ) -> Result<Plan, Error>
    where
        T: Element<Device: Reduced<O>>,
        V: DeviceCopy + 'static,
        O: Operation<T::Device, Value = V>,
    {
        let _ = operation;
        // SAFETY: `Reduced` has the library's own kernel of the operation, and `LEVELS` are what it was compiled to.
        unsafe { self.reduce_by::<<T::Device as Reduced<O>>::Kernel, _, _, _>(&LEVELS, from, to) }
    }

    /// The same by a kernel of one's own crate, made with [`reduction!`](kernels_gpu::reduction).
    ///
    /// # Safety
    /// `K` is a kernel of that macro, `levels` are what its crate was compiled to, and the operation's values have no padding.
    pub unsafe fn reduce_by<'b, K, D, T, V>(
        &self,
        levels: &Levels,
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
            self.reduce_async::<K, D, T, V>(levels, from.as_cust(), to.as_cust_mut())
        })
    }

    /// [`reduce_by`](Self::reduce_by) of `cust`'s buffers, put on the device's stream.
    ///
    /// # Safety
    /// As of [`reduce_by`](Self::reduce_by), and until the stream has done it, both stay where they are, and nothing else writes `from` or reaches `to`.
    pub unsafe fn reduce_async<K, D, T, V>(
        &self,
        levels: &Levels,
        from: &DeviceSlice<T>,
        to: &mut DeviceSlice<V>,
    ) -> Result<Plan, Error>
    where
        K: Kernel<Signature = Signature<D, V>>,
        T: HostType<D>,
        D: 'static,
        V: DeviceCopy + 'static,
    {
        super::refuse_shorter(to, 1)?;
        let plan = plan(self.device.limits(), K::NAME, from.len(), per_load::<D>());
        let (ticket, parts) = self.scratch(plan.shape.grid[0] as usize * size_of::<V>())?;
        let arguments = (from, DevicePointer::<V>::from_raw(parts), ticket, to);
        // SAFETY: there is room for a value of each block, and for the result; the ticket is 0 between launches of one stream; the
        // rest is the caller's promise.
        unsafe { self.device.kernel::<K>(levels)?.launch(plan.shape, arguments)? };
        Ok(plan)
    }
}

/// As many blocks as the device holds at a time, and fewer if there is not a load for each thread.
fn plan(limits: &Limits, kernel: &'static str, elements: usize, per_load: usize) -> Plan {
    let most = limits.sms * BLOCKS_A_SM.min(limits.threads_per_sm / BLOCK);
    let blocks = (elements / per_load).div_ceil(BLOCK as usize).clamp(1, most as usize) as u32;
    let each = if blocks == most { "all that the device holds at a time" } else { "one load a thread" };
    Plan {
        kernel,
        shape: Shape { grid: [blocks, 1, 1], block: [BLOCK, 1, 1], shared: 0 },
        why: format!("{blocks} blocks, {each}; the last to arrive combines what they found"),
    }
}
