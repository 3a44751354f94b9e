//! Compiles the device modules of a package to PTX: the modules marked `#[warpsmith::device]` in its binaries, its library, its
//! examples, tests and benches.
//!
//! The build script is one line, `fn main() { warpsmith_build::kernels() }`.
//!
//! The modules of each root become a crate of their own in `OUT_DIR`, in which all else is blank: what rustc says of it, and what
//! the PTX says of its lines, is about the user's own files. [`cuda_builder`] compiles it. What it refuses does not fail the
//! build script: the attribute shows it at the user's own token, when the host compiles the module.
#![warn(missing_docs)]

mod crates;
mod modules;
mod package;
mod tokens;

pub use cuda_builder::NvvmArch;

/// Compiles the device modules of the package, for all devices from capability 7.5 on.
pub fn kernels() {
    kernels_for(&[NvvmArch::Compute75]);
}

/// The same for several feature levels, lowest first. A device is given the lowest that has the kernel, and
/// `#[cfg(target_feature = "compute_90")]` says what only a higher one has.
pub fn kernels_for(levels: &[NvvmArch]) {
    if let Err(error) = crates::build(levels) {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}
