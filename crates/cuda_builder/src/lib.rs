//! Compiles a crate of Rust kernels to PTX with the stock stable compiler.
//!
//! ```no_run
//! // build.rs
//! use cuda_builder::{CudaBuilder, NvvmArch};
//!
//! let out = std::path::PathBuf::from(std::env::var_os("OUT_DIR").unwrap());
//! CudaBuilder::new("../kernels").arch(NvvmArch::Compute75).copy_to(out.join("kernels.ptx")).build().unwrap();
//! ```
#![warn(missing_docs)]

mod arch;
mod assembly;
mod bitcode;
mod builder;
mod error;
mod front_end;
mod llvm;
mod lower;
mod options;
mod parcel;
mod pass;
mod report;

pub use arch::{NvvmArch, UnknownArch};
pub use builder::{CudaBuilder, DebugInfo, EmitOption};
pub use error::CudaBuilderError;
pub use llvm_library::LlvmError;
#[doc(hidden)]
pub use report::{PlacedError, Report};
