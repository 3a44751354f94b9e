//! Executes PTX on the CPU, warp by warp.
//!
//! [`Gpu`] is the device: [`Gpu::memory`] allocates and copies, [`Gpu::load`] takes PTX text, [`Gpu::launch`] runs a
//! kernel to its end or to a [`Fault`], under the eyes of a [`LaunchObserver`] (`()` sees nothing and costs nothing).

pub mod alu;
mod decode;
mod exec;
mod fault;
mod gpu;
mod launch;
#[cfg_attr(not(test), expect(dead_code, reason = "its instructions come with the executor"))]
mod matrix;
pub mod memory;
mod module;
pub mod observer;
mod program;
pub mod tensor_map;

pub use fault::{Error, Fault, FaultKind, Location, SourceFrame};
pub use gpu::{Gpu, Options};
pub use launch::{Dim3, Launch};
pub use module::{Global, Kernel, Module, Param};
pub use observer::{BlockObserver, LaunchObserver};
pub use program::Code;
