//! Executes PTX on the CPU, warp by warp.
//!
//! [`Gpu`] is the device: [`Gpu::memory`] allocates and copies, [`Gpu::load`] takes PTX text, [`Gpu::launch`] runs a
//! kernel to its end or to a [`Fault`], under the eyes of a [`LaunchObserver`] (`()` sees nothing and costs nothing).
//!
//! In layers, each of which knows those above it in this table and none below:
//!
//! | layer | what lives there |
//! | --- | --- |
//! | [`alu`], `matrix`, [`tensor_map`], [`texture`] | arithmetic, products and images on plain values, bit for bit |
//! | [`memory`] | device memory and the windows of the generic address space |
//! | `form` | a decoded program: registers, operations, functions, and what can be told from them; [`Code::show`] prints it |
//! | `evaluate` | arithmetic by its opcode and qualifiers → functions over the rows of registers |
//! | `decode` | parsed PTX → that form, analyses at load; what cannot run is refused here |
//! | [`observer`], [`profiler`] | what is seen of a launch; counts of wavefronts and sectors, by source line |
//! | `exec` | warps, blocks, launches: the interpreter of the form |
//! | [`jit`], [`counting`] | the seam to a compiler of programs, and what its code counts for an observer |
//! | [`Gpu`] | the device: memory, loading, launching |
//!
//! An instruction that is neither lane by lane nor the executor's own (asynchronous copies, `mbarrier`, matrix operations,
//! textures) is data in `form::extension::Extension`; `exec::extension::Execute` says how it runs, against a `Machine`:
//! registers, shared and global memory, the block's `ExtensionState` for state of its own, the observer's hooks. One that
//! answers `Step::Retry` parks its lanes and is tried again when other warps have run.

pub mod alu;
pub mod counting;
mod decode;
mod evaluate;
mod exec;
mod fault;
mod form;
mod gpu;
pub mod jit;
mod job;
mod launch;
mod matrix;
pub mod memory;
mod module;
pub mod observer;
pub mod profiler;
mod quota;
pub mod tensor_map;
pub mod texture;

pub use fault::{Error, Fault, FaultKind, Location, SourceFrame, is_library};
pub use form::print::Shown;
pub use form::program::Code;
pub use form::program::Param;
pub use form::values::{Operands, Values};
pub use gpu::{Gpu, Options};
pub use job::{Job, Watch};
pub use launch::{Dim3, Launch};
pub use module::{Global, Kernel, Module, SharedArray};
pub use observer::{BlockObserver, LaunchObserver};
pub use quota::Quota;
