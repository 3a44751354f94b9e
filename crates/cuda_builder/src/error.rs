//! Errors of a device build.

use llvm_library::LlvmError;
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
        /// Which lines these are, in words.
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
        /// As it was called.
        program: PathBuf,
        /// The system's message.
        #[source]
        cause: io::Error,
    },
    /// A file of the build could not be read or written.
    #[error("{what} `{}`: {cause}", path.display())]
    File {
        /// The operation on it.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's message.
        #[source]
        cause: io::Error,
    },
    /// The toolchain's LLVM is of no use.
    #[error(transparent)]
    Llvm(#[from] LlvmError),
    /// An output of rustc cannot be read.
    #[error("`{}` is not what rustc was asked for: {cause}", path.display())]
    BadArtifact {
        /// The file.
        path: PathBuf,
        /// The problem with it.
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
        /// Its last output.
        stderr: String,
    },
}

impl CudaBuilderError {
    /// A failure of the lowering, with a word on the toolchain of this `rustc -vV` where that is not the one that is known.
    pub(crate) fn with_version(self, version: &str) -> Self {
        let note = llvm_library::note(version).unwrap_or_default();
        match self {
            Self::Lowering(text) => Self::Lowering(text + &note),
            Self::Crashed { how, stderr } => Self::Crashed { how, stderr: stderr + &note },
            other => other,
        }
    }
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
    fn failures_under_a_newer_rust_say_so() {
        let text = |version: &str| {
            CudaBuilderError::Lowering("undefined: x".into()).with_version(version).to_string()
        };
        assert!(text("release: 1.99.0\n").starts_with("undefined: x\nThis may be the toolchain"));
        assert_eq!(text("release: 1.95.0\n"), "undefined: x");
    }

    #[test]
    fn what_unwrap_shows_has_its_line_breaks() {
        let error = CudaBuilderError::Lowering("`f` is used\n  in `g`".to_owned());
        assert_eq!(format!("{error:?}"), "`f` is used\n  in `g`");
    }
}
