//! Softmax and norms of each row of a row-major matrix of f32, f16 or bf16.
//!
//! ```
//! use warpsmith_kernels::rows::{Norm, softmax};
//! use warpsmith_launch::{Device, DevicePreference};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let device = Device::open(DevicePreference::Virtual)?;
//! let x = device.upload(&[0.0f32, 0.0, 1.0, 3.0])?; // 2 × 2
//! let mut y = device.zeroed::<f32>(4)?;
//! let plan = softmax(&device, (2, 2), &x, &mut y)?;
//! assert_eq!(device.download(&y)?[..2], [0.5, 0.5], "by {}", plan.kernel());
//!
//! let weight = device.upload(&[2.0f32, 1.0])?;
//! Norm::layer(0.0).weight(&weight).apply(&device, (2, 2), &x, &mut y)?;
//! assert_eq!(device.download(&y)?[2..], [-2.0, 1.0]);
//! # Ok(()) }
//! ```

use cuda_std::Kernel;
use cust::memory::{DeviceCopy, DevicePointer};
use kernels_gpu::base::rows::{Family, Form};
use kernels_gpu::choice::UseKernel;
use kernels_gpu::rows::{WARP_BLOCK, norm, per_access, softmax as kernel};
use warpsmith_launch::{Bf16, BufferSlice, BufferSliceMut, Device, F16, HostType, Shape};

use crate::plan::Plan;
use crate::{Error, LEVELS, finished};

/// An element of a row.
pub trait Element: HostType<Self::Device> {
    /// The kernels' type of it.
    type Device: Family;
}
impl Element for f32 {
    type Device = f32;
}
impl Element for F16 {
    type Device = half::f16;
}
impl Element for Bf16 {
    type Device = half::bf16;
}

/// Rows and columns.
pub type Extents = (usize, usize);

/// Each row of `to` becomes exp(x) / Σ exp(x) of that of `from`, when this returns.
pub fn softmax<'b, T: Element>(
    device: &Device,
    extents: Extents,
    from: impl Into<BufferSlice<'b, T>>,
    to: impl Into<BufferSliceMut<'b, T>>,
) -> Result<Plan, Error> {
    either_softmax(device, extents, false, from.into(), to.into())
}

/// Each row of `to` becomes x - ln Σ exp(x) of that of `from`, when this returns.
pub fn log_softmax<'b, T: Element>(
    device: &Device,
    extents: Extents,
    from: impl Into<BufferSlice<'b, T>>,
    to: impl Into<BufferSliceMut<'b, T>>,
) -> Result<Plan, Error> {
    either_softmax(device, extents, true, from.into(), to.into())
}

fn either_softmax<T: Element>(
    device: &Device,
    extents: Extents,
    is_logarithm: bool,
    from: BufferSlice<'_, T>,
    to: BufferSliceMut<'_, T>,
) -> Result<Plan, Error> {
    let call = Call::new::<T>(extents, &[("the matrix", &from), ("the result", &to)], &[])?;
    let launch = Softmax { device, call: &call, is_logarithm, from: &from, to: &to };
    finished(device, <T::Device as Family>::softmax(call.form, launch))
}

/// A softmax to be launched, by whatever kernel.
struct Softmax<'c, 'b, T: DeviceCopy> {
    device: &'c Device,
    call: &'c Call,
    is_logarithm: bool,
    from: &'c BufferSlice<'b, T>,
    to: &'c BufferSliceMut<'b, T>,
}

impl<T: Element> UseKernel<kernel::Signature<T::Device>, Result<Plan, Error>> for Softmax<'_, '_, T> {
    fn with<K: Kernel<Signature = kernel::Signature<T::Device>> + 'static>(self) -> Result<Plan, Error> {
        let plan = self.call.plan(K::NAME);
        let (rows, cols) = self.call.extents;
        let arguments =
            (rows, cols, u32::from(self.is_logarithm), self.from.as_device_ptr(), self.to.as_device_ptr());
        // SAFETY: `Call::new` compared the buffers with the extents and chose a kernel by length and alignment; both are borrowed
        // until the device has been waited for.
        unsafe { self.device.kernel::<K>(&LEVELS)?.launch(plan.shape, arguments)? };
        Ok(plan)
    }
}

/// (x - mean) · weight / √(mean square + ε) + bias of each row, x being what is given and, if there is one, the residual.
#[doc(alias = "LayerNorm")]
#[doc(alias = "RMSNorm")]
pub struct Norm<'b, T: DeviceCopy> {
    is_centred: bool,
    epsilon: f32,
    weight: Option<BufferSlice<'b, T>>,
    bias: Option<BufferSlice<'b, T>>,
    residual: Option<(BufferSlice<'b, T>, BufferSliceMut<'b, T>)>,
}

impl<'b, T: Element> Norm<'b, T> {
    /// Layer norm: the mean is taken off, and the mean square is the variance.
    pub fn layer(epsilon: f32) -> Self {
        Self { is_centred: true, epsilon, weight: None, bias: None, residual: None }
    }

    /// RMS norm: no mean is taken off.
    pub fn rms(epsilon: f32) -> Self {
        Self { is_centred: false, ..Self::layer(epsilon) }
    }

    /// Multiplies each column by its weight.
    pub fn weight(self, weight: impl Into<BufferSlice<'b, T>>) -> Self {
        Self { weight: Some(weight.into()), ..self }
    }

    /// Adds to each column its bias.
    pub fn bias(self, bias: impl Into<BufferSlice<'b, T>>) -> Self {
        Self { bias: Some(bias.into()), ..self }
    }

    /// Adds a matrix first; the sum is kept in `sum`, for the next layer's residual.
    pub fn residual(
        self,
        residual: impl Into<BufferSlice<'b, T>>,
        sum: impl Into<BufferSliceMut<'b, T>>,
    ) -> Self {
        Self { residual: Some((residual.into(), sum.into())), ..self }
    }

    /// Does it for each row of `from`, and returns when `to` is written.
    pub fn apply(
        &mut self,
        device: &Device,
        extents: Extents,
        from: impl Into<BufferSlice<'b, T>>,
        to: impl Into<BufferSliceMut<'b, T>>,
    ) -> Result<Plan, Error> {
        let (from, to) = (from.into(), to.into());
        let mut matrices: Vec<(_, &dyn Place)> = vec![("the matrix", &from), ("the result", &to)];
        if let Some((residual, sum)) = &self.residual {
            matrices.extend([("the residual", residual as &dyn Place), ("the sum", sum)]);
        }
        let lines = [("the weights", self.weight.as_ref()), ("the biases", self.bias.as_ref())];
        let lines: Vec<(_, &dyn Place)> =
            lines.iter().filter_map(|&(name, line)| Some((name, line? as &dyn Place))).collect();
        let call = Call::new::<T>(extents, &matrices, &lines)?;
        let launch = Normed { device, call: &call, norm: self, from: &from, to: &to };
        finished(device, <T::Device as Family>::norm(call.form, launch))
    }
}

/// A norm to be launched, by whatever kernel.
struct Normed<'c, 'b, T: DeviceCopy> {
    device: &'c Device,
    call: &'c Call,
    norm: &'c Norm<'b, T>,
    from: &'c BufferSlice<'b, T>,
    to: &'c BufferSliceMut<'b, T>,
}

impl<T: Element> UseKernel<norm::Signature<T::Device>, Result<Plan, Error>> for Normed<'_, '_, T> {
    fn with<K: Kernel<Signature = norm::Signature<T::Device>> + 'static>(self) -> Result<Plan, Error> {
        let plan = self.call.plan(K::NAME);
        let (rows, cols) = self.call.extents;
        let is_centred = u32::from(self.norm.is_centred);
        let parameters = norm::Norm { rows, cols, is_centred, epsilon: self.norm.epsilon };
        let line = |line: &Option<BufferSlice<'_, T>>| {
            line.map_or(DevicePointer::null(), |line| line.as_device_ptr())
        };
        let (residual, sum) = match &self.norm.residual {
            Some((residual, sum)) => (residual.as_device_ptr(), sum.as_device_ptr()),
            None => (DevicePointer::null(), DevicePointer::null()),
        };
        let (weight, bias) = (line(&self.norm.weight), line(&self.norm.bias));
        let arguments =
            (parameters, self.from.as_device_ptr(), residual, sum, weight, bias, self.to.as_device_ptr());
        // SAFETY: as above, of all of them.
        unsafe { self.device.kernel::<K>(&LEVELS)?.launch(plan.shape, arguments)? };
        Ok(plan)
    }
}

/// A part of a buffer: how many elements, and where.
trait Place {
    fn place(&self) -> (usize, u64);
}
impl<T: DeviceCopy> Place for BufferSlice<'_, T> {
    fn place(&self) -> (usize, u64) {
        (self.len(), self.as_device_ptr().as_raw())
    }
}
impl<T: DeviceCopy> Place for BufferSliceMut<'_, T> {
    fn place(&self) -> (usize, u64) {
        (self.len(), self.as_device_ptr().as_raw())
    }
}

/// A call whose buffers are as long as they must be, with the form of kernel for it and its launch.
struct Call {
    extents: (u32, u32),
    form: Form,
    shape: Shape,
    why: String,
}

impl Call {
    fn new<T: Element>(
        (rows, cols): Extents,
        matrices: &[(&str, &dyn Place)],
        lines: &[(&str, &dyn Place)],
    ) -> Result<Self, Error> {
        let needed = rows.saturating_mul(cols);
        let needs =
            matrices.iter().map(|matrix| (matrix, needed)).chain(lines.iter().map(|line| (line, cols)));
        for ((name, buffer), needed) in needs.clone() {
            let has = buffer.place().0;
            if has < needed {
                return Err(Error::Rows(format!(
                    "{name} needs {needed} elements for {rows} × {cols}, its buffer has {has}"
                )));
            }
        }
        // A grid has 2³¹ - 1 blocks.
        let largest = i32::MAX as usize;
        if rows.max(cols) > largest {
            return Err(Error::Rows(format!(
                "{rows} × {cols} has more rows or columns than {largest}, the limit"
            )));
        }
        let extents = (rows as u32, cols as u32);
        let is_whole = cols.is_multiple_of(per_access::<T::Device>(true));
        let is_aligned =
            is_whole && needs.clone().all(|((_, buffer), _)| buffer.place().1.is_multiple_of(16));
        let accesses = cols.div_ceil(per_access::<T::Device>(is_aligned));
        let fits = |(_, aligned, threads, kept): &&(Form, bool, usize, usize)| {
            *aligned == is_aligned && (accesses <= threads * kept || *kept == 0)
        };
        let form = <T::Device as Family>::FORMS.iter().find(fits);
        let &(form, _, threads, kept) =
            form.ok_or_else(|| Error::Rows("there is no form for them".into()))?;
        let (blocks, block) = match threads as u32 {
            32 => (extents.0.div_ceil(WARP_BLOCK / 32), WARP_BLOCK),
            threads => (extents.0, threads),
        };
        let each = if is_aligned { "16 bytes" } else { "an element" };
        let kept = match kept {
            0 => "more than a block keeps, so that it is read again",
            _ => "kept in registers",
        };
        Ok(Self {
            extents,
            form,
            shape: Shape {
                grid: [if cols == 0 { 0 } else { blocks }, 1, 1],
                block: [block, 1, 1],
                shared: 0,
            },
            why: format!("{threads} threads a row: {accesses} accesses of {each}, {kept}"),
        })
    }

    fn plan(&self, kernel: &'static str) -> Plan {
        Plan { kernel, shape: self.shape, why: self.why.clone() }
    }
}
