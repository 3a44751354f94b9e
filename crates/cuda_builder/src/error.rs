//! What can go wrong in a device build.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a device crate did not become PTX.
///
/// [`Debug`](fmt::Debug) writes the same text as [`Display`](fmt::Display): what a build script's `unwrap()` shows is made
/// to be read.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum CudaBuilderError {
    /// The path given to [`CudaBuilder::new`](crate::CudaBuilder::new) has no crate.
    #[error("there is no crate at `{}`: a Cargo.toml is expected there. The path is relative to the build script's package", .0.display())]
    CratePathDoesntExist(PathBuf),
    /// The PTX could not be written where `copy_to` asked.
    #[error("the PTX could not be written: {0}")]
    FailedToCopyPtxFile(#[source] io::Error),
    /// cargo or rustc refused the device crate. Their messages were printed before.
    #[error("the device crate did not compile; rustc's messages are above")]
    BuildFailed,
    /// The same, for a reason that there is advice about.
    #[error("the device crate did not compile.\n\n{0}")]
    NotForTheDevice(String),
    /// The crate begins with the header of 2022.
    #[error("`{}` begins with the header of kernel crates of 2022, whose attributes Rust no longer has. Delete {lines}, nothing else is needed:\n{header}", file.display())]
    OldHeader {
        /// The crate's root.
        file: PathBuf,
        /// Which lines.
        lines: String,
        /// The text to delete.
        header: String,
    },
    /// The device crate resolved a `cuda_std` that is not the one beside this builder.
    #[error(
        "the device crate uses cuda_std {found}, which needs upstream's nightly compiler. Put this into the Cargo.toml of its workspace, and run `cargo update -p cuda_std`:\n\n[patch.crates-io]\ncuda_std = {{ path = \"{ours}\" }}\n\n(for a dependency on git, `[patch.\"THE GIT ADDRESS\"]` instead)"
    )]
    ForeignCudaStd {
        /// Version and source of what was resolved.
        found: String,
        /// The path of ours.
        ours: String,
    },
    /// A program could not be started.
    #[error("`{program}` could not be started: {cause}")]
    CannotRun {
        /// The program.
        program: PathBuf,
        /// What the system said.
        #[source]
        cause: io::Error,
    },
    /// A file of the build could not be read or written.
    #[error("{what} `{}`: {cause}", path.display())]
    File {
        /// What was done with it.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        cause: io::Error,
    },
    /// The toolchain has no LLVM library of its own.
    #[error("no LLVM library was found in `{}`.\nThe device code is made by the LLVM inside the Rust toolchain, which must be the shared library that rustup's toolchains for Linux and macOS carry. This rustc links LLVM statically or uses the system's: install the toolchain with rustup", searched.display())]
    NoLlvm {
        /// Where it was looked for.
        searched: PathBuf,
    },
    /// The LLVM library lacks what the lowering calls.
    #[error("the LLVM library `{}` cannot be used: {cause}.\nThis version of cuda_builder knows the LLVM of Rust 1.95 (LLVM 22): pin that toolchain in rust-toolchain.toml (`channel = \"1.95.0\"`), or update cuda_builder", path.display())]
    WrongLlvm {
        /// The library.
        path: PathBuf,
        /// What was missing.
        cause: String,
    },
    /// What rustc made cannot be read.
    #[error("`{}` is not what rustc was asked for: {cause}", path.display())]
    BadArtifact {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        cause: String,
    },
    /// The device code cannot be PTX. The text names the construct, the function and its caller.
    #[error("{0}")]
    Lowering(String),
    /// The lowering itself broke off.
    #[error(
        "the lowering to PTX broke off ({how}). This is a defect of cuda_builder: please report it with the kernel that causes it.\n{stderr}"
    )]
    Crashed {
        /// The signal or exit code.
        how: String,
        /// What it last wrote.
        stderr: String,
    },
}

impl fmt::Debug for CudaBuilderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_unwrap_shows_has_its_line_breaks() {
        let error = CudaBuilderError::Lowering("`f` is used\n  in `g`".to_owned());
        assert_eq!(format!("{error:?}"), "`f` is used\n  in `g`");
    }
}
