//! What can go wrong between a program and its kernels.

use cust::error::CudaError;
use warpsmith_cuda::ChoiceError;

/// An error of this crate: what was asked, what the limit is, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A driver call failed.
    #[error("cannot {doing}: {error:?}")]
    Cuda {
        /// What was being done, as a verb: "copy A to the device".
        doing: String,
        /// The driver's answer.
        error: CudaError,
    },
    /// No device could be taken.
    #[error(transparent)]
    NoDevice(#[from] ChoiceError),
    /// The profile that was asked for cannot be written.
    #[error("{0}")]
    Profile(String),
    /// The device cannot run any module.
    #[error(
        "the device ({name}) has compute capability {}.{}; the kernels need at least {}.{}. WARPSMITH_DEVICE=virtual runs \
         them without it", capability.0, capability.1, needed.0, needed.1
    )]
    TooOld {
        /// The device.
        name: String,
        /// Its capability.
        capability: (u32, u32),
        /// What the lowest level needs.
        needed: (u32, u32),
    },
    /// No module that the device admits has this kernel.
    #[error("kernel `{kernel}` cannot run here: {reason}")]
    LeftOut {
        /// The kernel.
        kernel: String,
        /// Why no loaded module has it.
        reason: String,
    },
    /// The driver refused a module.
    #[error("the driver refuses the module for {arch}: {error:?}{log}")]
    Module {
        /// The module's architecture.
        arch: String,
        /// The driver's answer.
        error: CudaError,
        /// What its compiler said, each line indented, after a line break.
        log: String,
    },
    /// PTX that was just compiled cannot be read back.
    #[error("the module for {arch} cannot be read: {error}")]
    Ptx {
        /// The module's architecture.
        arch: String,
        /// The parser's answer.
        error: Box<ptx::Error>,
    },
    /// The PTX and the typed description of a kernel differ: one of them is stale.
    #[error("kernel `{kernel}` was compiled with other parameters than the host knows: {difference}")]
    Layout {
        /// The kernel.
        kernel: &'static str,
        /// The first parameter that differs, and both layouts.
        difference: String,
    },
    /// The PTX's kernel without `unsafe` is another one than the host's.
    #[error("kernel `{kernel}` is another one in the PTX than on the host: {difference}")]
    Disagreement {
        /// The kernel.
        kernel: &'static str,
        /// The first thing that differs, with both sides.
        difference: String,
    },
    /// A matrix that its elements do not make.
    #[error("{elements} elements do not make a matrix of {rows} rows and {cols} columns")]
    Extents {
        /// Rows asked for.
        rows: usize,
        /// Columns asked for.
        cols: usize,
        /// The elements that there are.
        elements: usize,
    },
    /// Another number of elements than the buffer has.
    #[error("cannot copy {given} elements to a buffer of {has}: the numbers must be the same")]
    Length {
        /// The elements that were given.
        given: usize,
        /// The elements of the buffer.
        has: usize,
    },
    /// A launch that the kernel or the device does not admit.
    #[error("cannot launch `{kernel}`: {problem}")]
    Launch {
        /// The kernel.
        kernel: &'static str,
        /// The broken relation, with both values.
        problem: String,
    },
}

/// Says what was being done when a driver call failed.
pub trait Doing<T> {
    /// `doing` completes "cannot …".
    fn doing(self, doing: impl Into<String>) -> Result<T, Error>;
}

impl<T> Doing<T> for Result<T, CudaError> {
    fn doing(self, doing: impl Into<String>) -> Result<T, Error> {
        self.map_err(|error| Error::Cuda { doing: doing.into(), error })
    }
}
