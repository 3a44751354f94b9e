//! What is measured.

mod coalescing;
mod copy;
#[cfg(feature = "ladder")]
mod ladder;
mod matmul;
mod product;
mod tensor;
mod transpose;

use cust::memory::DeviceBuffer;
use warpsmith_launch::Doing;

pub use tensor::TensorCases;

use super::call::{Call, Value};
use super::pairs::Enqueue;
use super::{Bench, Comparison, Work};
use crate::error::Error;
use crate::modules::LEVELS;
use crate::size::Size;
use crate::verify::Verdict;

/// A family of comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Suite {
    /// All that follow, as if none is named.
    All,
    /// Vector copies against the driver's device-to-device copy.
    Copy,
    /// Transposes against their twins and against the copy of the same bytes.
    Transpose,
    /// Access patterns against their twins.
    Coalescing,
    /// Products against their twins and cuBLAS.
    Matmul,
    /// Products on tensor cores against cuBLASLt.
    Tensor,
    /// The steps of the product, each against the one before it; not part of `all`.
    #[cfg(feature = "ladder")]
    Ladder,
}

impl Suite {
    /// What [`All`](Self::All) stands for.
    const EACH: [Self; 5] = [Self::Copy, Self::Transpose, Self::Coalescing, Self::Matmul, Self::Tensor];

    /// Those asked for, each once, in the order in which they were named; everything if none was.
    pub fn wanted(asked: &[Self]) -> Vec<Self> {
        if asked.is_empty() {
            return Self::EACH.to_vec();
        }
        let mut wanted = Vec::new();
        for suite in asked {
            let suites = if *suite == Self::All { &Self::EACH[..] } else { std::slice::from_ref(suite) };
            wanted
                .extend(suites.iter().filter(|suite| !wanted.contains(*suite)).copied().collect::<Vec<_>>());
        }
        wanted
    }

    /// The heading of its rows.
    pub fn title(name: &str) -> &'static str {
        match name {
            "copy" => "Copies",
            "transpose" => "Transposes",
            "coalescing" => "Access patterns",
            "matmul" => "f32 products",
            "tensor" => "Products on tensor cores",
            _ => "Steps of the f32 product",
        }
    }

    pub(super) fn run(self, bench: &Bench<'_>, sizes: &[Size]) -> Result<Vec<Comparison>, Error> {
        if matches!(self, Self::Copy | Self::Coalescing) && !sizes.is_empty() {
            bench.leave_out(match self {
                Self::Copy => "--sizes for copy, which always moves 1 GiB",
                _ => "--sizes for coalescing, which always moves 2²⁶ elements or structs",
            });
        }
        match self {
            Self::All => {
                let mut rows = Vec::new();
                for suite in Self::EACH {
                    rows.extend(suite.run(bench, sizes)?);
                }
                Ok(rows)
            }
            #[cfg(feature = "ladder")]
            Self::Ladder => {
                let edges: Vec<usize> = sizes.iter().filter_map(|size| size.edge()).collect();
                ladder::run(bench, &edges)
            }
            Self::Copy => copy::run(bench),
            Self::Transpose => transpose::run(bench, sizes),
            Self::Coalescing => coalescing::run(bench),
            Self::Matmul => matmul::run(bench, sizes),
            Self::Tensor => tensor::run(bench, sizes),
        }
    }
}

/// What the driver's own copy is called in rows.
pub(super) const DRIVER_COPY: &str = "driver copy";

/// What the same algorithm without safe slices is called in rows.
pub(super) const RAW_POINTERS: &str = "raw pointers";

/// A slice argument for a whole buffer.
fn slice<T: cust::memory::DeviceCopy>(buffer: &DeviceBuffer<T>) -> Value {
    Value::Slice(buffer.as_device_ptr().as_raw(), buffer.len() as u64)
}

/// A pointer argument.
fn pointer<T: cust::memory::DeviceCopy>(buffer: &DeviceBuffer<T>) -> Value {
    Value::Pointer(buffer.as_device_ptr().as_raw())
}

impl<'d> Bench<'d> {
    /// Launches of our kernel.
    fn ours<'a>(&'a self, call: &'a Call) -> Result<Enqueue<'a>, Error> {
        let module = self.device.module(&LEVELS, call.kernel)?;
        let function = module.get_function(call.kernel).doing(format!("find kernel `{}`", call.kernel))?;
        if call.shape.shared > self.device.limits().shared_per_block {
            warpsmith_launch::extra::allow_dynamic_shared(&function, call.shape.shared)
                .doing("allow dynamic shared memory")?;
        }
        // SAFETY: each suite makes its calls for buffers that are as long as the kernel asks for.
        Ok(Box::new(move |set| unsafe { call.launch(self.device.stream(), &function, set) }))
    }

    /// Launches of the C++ twin, if there is one.
    fn theirs<'a>(&'a self, family: &str, call: &'a Call) -> Result<Option<Enqueue<'a>>, Error> {
        let Some(module) = self.twin(family) else { return Ok(None) };
        let function =
            module.get_function(call.kernel).doing(format!("find the twin of `{}`", call.kernel))?;
        if call.shape.shared > self.device.limits().shared_per_block {
            warpsmith_launch::extra::allow_dynamic_shared(&function, call.shape.shared)
                .doing("allow dynamic shared memory")?;
        }
        // SAFETY: as for our own kernel: the twin has the same parameters.
        Ok(Some(Box::new(move |set| unsafe { call.launch(self.device.stream(), &function, set) })))
    }

    /// Runs our kernel once on the first buffer set, so that its result can be checked.
    fn once(&self, call: &Call) -> Result<(), Error> {
        self.ours(call)?(0).doing(format!("launch `{}`", call.kernel))?;
        Ok(self.device.synchronize()?)
    }

    /// A row against the twin, when nvcc is there.
    fn against_twin(
        &self,
        family: &'static str,
        call: &Call,
        size: String,
        work: Work,
        verdict: &Verdict,
    ) -> Result<Option<Comparison>, Error> {
        let Some(other) = self.theirs(family, call)? else { return Ok(None) };
        self.compare(family, (call.kernel, size, "nvcc"), work, self.ours(call)?, other, verdict).map(Some)
    }
}

/// The driver's device-to-device copy of whole buffers, set by set.
fn driver_copy<'a>(bench: &'a Bench<'_>, pairs: Vec<(u64, u64)>, bytes: usize) -> Enqueue<'a> {
    Box::new(move |set| {
        let (from, to) = pairs[set % pairs.len()];
        // SAFETY: both buffers hold `bytes` bytes, as the suite that asks for the copy made them.
        let code =
            unsafe { cust::sys::cuMemcpyDtoDAsync_v2(to, from, bytes, bench.device.stream().as_inner()) };
        match code {
            cust::sys::cudaError_enum::CUDA_SUCCESS => Ok(()),
            _ => Err(cust::error::CudaError::UnknownError),
        }
    })
}

/// Another buffer of the same bytes.
fn another<T: cust::memory::DeviceCopy>(buffer: &DeviceBuffer<T>) -> Result<DeviceBuffer<T>, Error> {
    let make = "allocate the next set of buffers";
    // SAFETY: written whole by the next line, before anything reads it.
    let mut other = unsafe { DeviceBuffer::uninitialized(buffer.len()) }.doing(make)?;
    cust::memory::CopyDestination::copy_from(&mut *other, &**buffer).doing(make)?;
    Ok(other)
}

#[cfg(test)]
mod tests {
    use super::Suite;

    #[test]
    fn all_is_everything_once() {
        assert_eq!(Suite::wanted(&[]), Suite::EACH);
        assert_eq!(Suite::wanted(&[Suite::All, Suite::Copy]), Suite::EACH);
        assert_eq!(Suite::wanted(&[Suite::Matmul, Suite::Copy, Suite::Matmul]), [Suite::Matmul, Suite::Copy]);
        assert_eq!(Suite::wanted(&[Suite::Tensor, Suite::All])[..2], [Suite::Tensor, Suite::Copy]);
    }
}
