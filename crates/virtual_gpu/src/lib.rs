//! Executes PTX on the CPU, warp by warp.
//!
//! [`Gpu`] is the device: [`Gpu::memory`] allocates and copies, [`Gpu::load`] takes PTX text, [`Gpu::launch`] runs a
//! kernel to its end or to a [`Fault`], under the eyes of a [`LaunchObserver`] (`()` sees nothing and costs nothing).
//!
//! | room | what lives there |
//! | --- | --- |
//! | [`alu`] | the arithmetic, bit for bit, on plain values |
//! | `decode` | parsed PTX → a flat list of operations (`op`, `program`); what cannot run is refused here |
//! | `exec` | warps, blocks, launches: the interpreter |
//! | [`memory`] | device memory and the windows of the generic address space |
//! | [`observer`] | what profilers and sanitizers see |
//! | [`texture`] | images, their handles, filtering |
//! | [`profiler`] | counts of wavefronts and sectors, by source line |
//!
//! An instruction that is neither lane by lane nor the executor's own (asynchronous copies, `mbarrier`, matrix
//! operations) is a value that implements `exec::extension::Extension`; `decode::extension::decode` makes it from the
//! parsed instruction, using `Decoder::source` and `Decoder::target` for registers. It runs against a `Machine`:
//! registers, shared and global memory, the block's `ExtensionState` for state of its own, the observer's hooks. An
//! `Extension` that answers `Step::Retry` parks its lanes and is tried again when other warps have run.

pub mod alu;
mod decode;
mod exec;
mod fault;
mod form;
mod gpu;
mod launch;
mod matrix;
pub mod memory;
mod module;
pub mod observer;
pub mod profiler;
mod quota;
pub mod tensor_map;
pub mod texture;

pub use fault::{Error, Fault, FaultKind, Location, SourceFrame};
pub use form::program::Code;
pub use form::program::Param;
pub use form::values::{Operands, Values};
pub use gpu::{Gpu, Options};
pub use launch::{Dim3, Launch};
pub use module::{Global, Kernel, Module, SharedArray};
pub use observer::{BlockObserver, LaunchObserver};
pub use ptx::Opcode;
pub use quota::Quota;
