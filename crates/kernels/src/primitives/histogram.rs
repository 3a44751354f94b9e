//! Histograms.

use std::fmt::Debug;
use std::ops::Range;

use cuda_std::Kernel;
use cust::memory::{DevicePointer, DeviceSlice};
use kernels_gpu::base::primitives::histogram::histogram;
use kernels_gpu::primitives::histogram::{BLOCK, Binned, Signature, blocks_a_sm, copies};
use kernels_gpu::primitives::walk::per_load;
use warpsmith_launch::{BufferSlice, BufferSliceMut, HostType, Shape};

use super::{Element, Primitives};
use crate::plan::Plan;
use crate::{Error, LEVELS, finished};

/// The kernel counts bins in 32 bits, and steps beyond the last.
const MOST_BINS: u32 = 1 << 31;

impl Primitives<'_> {
    /// Counts elements by bin: `to.len()` bins divide `bounds` evenly. Elements outside, NaN, and the end itself, be it the type's
    /// greatest number, are not counted. Whole numbers are divided exactly, floats by `(x - start) * (bins / (end - start))` in their
    /// own precision, at most to the last bin.
    ///
    /// ```
    /// use warpsmith_kernels::primitives::Primitives;
    /// use warpsmith_launch::{Device, DevicePreference};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let device = Device::open(DevicePreference::Virtual)?;
    /// let bytes = device.upload(b"a histogram of letters")?;
    /// let mut counts = device.zeroed::<u64>(26)?;
    /// Primitives::new(&device).histogram(97..123, &bytes, &mut counts)?;
    /// assert_eq!(device.download(&counts)?[..5], [2, 0, 0, 0, 2]);
    /// # Ok(()) }
    /// ```
    pub fn histogram<'b, T, B>(
        &self,
        bounds: Range<B>,
        from: impl Into<BufferSlice<'b, T>>,
        to: impl Into<BufferSliceMut<'b, u64>>,
    ) -> Result<Plan, Error>
    where
        T: Element<Device: Binned<Bound = B>>,
        B: HostType<B> + PartialOrd + Debug + 'static,
        histogram<T::Device>: Kernel<Signature = Signature<T::Device, B>> + 'static,
    {
        let (from, mut to) = (from.into(), to.into());
        // SAFETY: both are borrowed until the device has been waited for.
        finished(self.device, unsafe {
            self.histogram_async::<T, B>(bounds, from.as_cust(), to.as_cust_mut())
        })
    }

    /// [`histogram`](Self::histogram) of `cust`'s buffers, put on the device's stream.
    ///
    /// # Safety
    /// Until the stream has done it, both stay where they are, and nothing else writes `from` or reaches `to`.
    pub unsafe fn histogram_async<T, B>(
        &self,
        bounds: Range<B>,
        from: &DeviceSlice<T>,
        to: &mut DeviceSlice<u64>,
    ) -> Result<Plan, Error>
    where
        T: Element<Device: Binned<Bound = B>>,
        B: HostType<B> + PartialOrd + Debug + 'static,
        histogram<T::Device>: Kernel<Signature = Signature<T::Device, B>> + 'static,
    {
        super::refuse_shorter(to, 1)?;
        if bounds.is_empty() {
            let message = format!("the bounds {bounds:?} hold no element: the first must be less");
            return Err(Error::Primitive(message));
        }
        let bins = u32::try_from(to.len()).ok().filter(|bins| *bins <= MOST_BINS).ok_or_else(|| {
            Error::Primitive(format!("a histogram has up to {MOST_BINS} bins, the result has {}", to.len()))
        })?;
        if !T::Device::divides(bounds.start, bounds.end, bins) {
            let message =
                format!("the bounds {bounds:?} cannot be divided into {bins} bins in the elements' type");
            return Err(Error::Primitive(message));
        }
        let (limits, copies) = (self.device.limits(), copies::<T::Device>(bins));
        let counted = if size_of::<T>() == 1 { 256 } else { bins };
        let most = limits.sms * blocks_a_sm::<T>().min(limits.threads_per_sm / BLOCK);
        let loads = (from.len() / per_load::<T>()).div_ceil(BLOCK as usize);
        let blocks = loads.clamp(1, most as usize) as u32;
        let plan = Plan {
            kernel: <histogram<T::Device> as Kernel>::NAME,
            shape: Shape { grid: [blocks, 1, 1], block: [BLOCK, 1, 1], shared: 4 * copies * counted },
            why: match copies {
                0 => format!(
                    "{blocks} blocks, which count in the L2 cache: shared memory has no room for {bins} bins"
                ),
                _ => {
                    format!("{blocks} blocks, each with {copies} copies of {counted} counts in shared memory")
                }
            },
        };
        let counts = DevicePointer::<u64>::from_raw(self.zeros(bins as usize)?);
        let (ticket, _) = self.scratch(0)?;
        let [whole, fraction] = T::Device::scale(bounds.start, bounds.end, bins);
        let arguments = (from, bounds.start, bounds.end, whole, fraction, bins, copies, counts, ticket, to);
        let kernel = self.device.kernel::<histogram<T::Device>>(&LEVELS)?;
        // SAFETY: there is a count and room for each bin, and shared memory for all copies; counts and ticket are 0 between launches of
        // one stream; the rest is the caller's promise.
        unsafe { kernel.launch(plan.shape, arguments)? };
        Ok(plan)
    }
}
