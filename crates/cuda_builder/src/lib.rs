//! Compiles a crate of Rust kernels to PTX with the stock stable compiler.
//!
//! ```no_run
//! // build.rs
//! use cuda_builder::{CudaBuilder, NvvmArch};
//!
//! let out = std::path::PathBuf::from(std::env::var_os("OUT_DIR").unwrap());
//! CudaBuilder::new("../kernels").arch(NvvmArch::Compute75).copy_to(out.join("kernels.ptx")).build().unwrap();
//! ```

mod advice;
mod arch;
mod archive;
mod assembly;
mod atomics;
mod backward_steps;
mod builder;
mod cache;
mod capability;
mod clean;
mod convergence;
mod debug_info;
mod empty_assembly;
mod entry;
mod error;
mod float_modes;
mod format;
mod front_end;
mod inline_assembly;
mod inline_ptx;
mod inline_spaces;
mod inlining;
mod intrinsics;
mod isolate;
mod levels;
mod lines;
mod link;
mod llvm;
mod llvm_library;
mod local_arrays;
mod local_atomics;
mod lower;
mod marks;
mod mathematics;
mod memory_ops;
mod names;
mod panic_places;
mod panics;
mod parcel;
mod part;
mod partition;
mod printing;
mod project;
mod ptx_version;
mod refuse;
mod sizes;
mod spaces;
mod unroll;
mod wrapper;
mod x86_vectors;

pub use arch::{NvvmArch, UnknownArch};
pub use builder::{CudaBuilder, DebugInfo, EmitOption};
pub use error::CudaBuilderError;
