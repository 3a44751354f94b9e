//! Errors between a program and its kernels.

use std::fmt;

use cust::error::CudaError;
use ptx::rust_name;
use warpsmith_cuda::ChoiceError;

/// An error of this crate: the request, the limit, and the remedy.
#[derive(thiserror::Error)]
pub enum Error {
    /// A driver call failed.
    #[error("cannot {task}: {error:?}{fault}")]
    Cuda {
        /// The task, as a verb: "copy A to the device".
        task: String,
        /// The driver's answer.
        error: CudaError,
        /// The kernel whose fault lost the context, after a semicolon; empty if no fault did, or none is known.
        fault: String,
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
        /// The capability that the lowest level needs.
        needed: (u32, u32),
    },
    /// No module that the device admits has this kernel.
    #[error("kernel `{}` cannot run here: {reason}", rust_name(kernel))]
    KernelUnavailable {
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
        /// The log of its compiler, each line indented, after a line break.
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
    #[error(
        "kernel `{}` was compiled with other parameters than the host knows: {difference}",
        rust_name(kernel)
    )]
    Layout {
        /// The kernel.
        kernel: &'static str,
        /// The first parameter that differs, and both layouts.
        difference: String,
    },
    /// The PTX's kernel without `unsafe` is another one than the host's.
    #[error("kernel `{}` differs between PTX and host: {difference}", rust_name(kernel))]
    KernelMismatch {
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
    /// A stream or slice of another library that cannot be shared.
    #[error("{0}")]
    Shared(String),
    /// A graph that cannot be captured, or launched so.
    #[error("cannot launch the graph: {0}")]
    Graph(String),
    /// A task that waits or copies, asked for where a graph is captured.
    #[error(
        "cannot {task} while this thread captures a graph, where nothing runs: do it before or after; calls of a library can be \
         captured in the form that only puts work on the stream"
    )]
    Captured {
        /// The task, as a verb.
        task: String,
    },
    /// A launch that the kernel or the device does not admit.
    #[error("cannot launch `{}`: {problem}", rust_name(kernel))]
    Launch {
        /// The kernel.
        kernel: &'static str,
        /// The broken relation, with both values.
        problem: String,
    },
}

/// As displayed: `main` and `unwrap` print this form.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Names the task in which a driver call failed.
pub trait ErrorContext<T> {
    /// `task` completes "cannot …".
    fn context(self, task: impl Into<String>) -> Result<T, Error>;
}

impl<T> ErrorContext<T> for Result<T, CudaError> {
    fn context(self, task: impl Into<String>) -> Result<T, Error> {
        self.map_err(|error| {
            let fault = warpsmith_cuda::context_lost(error as u32).map(|lost| format!("; {lost}"));
            Error::Cuda { task: task.into(), error, fault: fault.unwrap_or_default() }
        })
    }
}
