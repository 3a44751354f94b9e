//! The LLVM in the Rust toolchain: where it is, whether its version is known here, how it is opened, and a cache folder
//! for its output.
//!
//! Used by the builder of device code and by the compiler of the virtual GPU's programs.

pub mod cache;

pub use libloading::{Error, Library};

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The major version of LLVM whose C API and NVPTX back end are known.
const LLVM: u32 = 22;
/// The minor version of Rust whose panic functions and names are known.
const RUST: u32 = 95;

/// Why the toolchain's LLVM cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LlvmError {
    /// The toolchain has no LLVM library of its own.
    #[error("no LLVM library was found in `{}`.\nDevice code is compiled by the LLVM of the Rust toolchain, which must be a shared library, as in rustup's toolchains for Linux and macOS. This rustc links LLVM statically or uses the system's: install the toolchain with rustup", searched.display())]
    Missing {
        /// The folder that was searched.
        searched: PathBuf,
    },
    /// The LLVM library lacks a function.
    #[error("the LLVM library `{}` cannot be used: {cause}.\nThis version of cuda_builder knows the LLVM of Rust 1.95 (LLVM 22): pin that toolchain in rust-toolchain.toml (`channel = \"1.95.0\"`), or update cuda_builder", path.display())]
    Unknown { path: PathBuf, cause: String },
}

/// The shared LLVM of the toolchain in `sysroot`: `libLLVM.so.22.1-rust-1.95.0-stable` on Linux (the file next to it
/// that ends in `.so` is a linker script), `libLLVM.dylib` on macOS. `version` is the output of `rustc -vV`.
pub fn find(sysroot: &Path, version: &str) -> Result<PathBuf, LlvmError> {
    let folder = sysroot.join(if cfg!(windows) { "bin" } else { "lib" });
    let is_library = |name: &str| {
        name.starts_with("libLLVM.so.")
            || name.starts_with("libLLVM") && name.ends_with(".dylib")
            || name.starts_with("LLVM") && name.ends_with(".dll")
    };
    let mut found: Vec<PathBuf> = fs::read_dir(&folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(is_library))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    let path = found.pop().ok_or(LlvmError::Missing { searched: folder })?;
    // Another LLVM may have the same functions with other meanings.
    match field(version, "LLVM version: ").and_then(|version| number(version, 0)) {
        Some(major) if major != LLVM => {
            let release = field(version, "release: ").unwrap_or("?");
            Err(LlvmError::Unknown { path, cause: format!("it is LLVM {major}, of Rust {release}") })
        }
        _ => Ok(path),
    }
}

/// The library of the toolchain that compiled this program, or else of the one whose `rustc` is on the path.
pub fn installed() -> Result<PathBuf, LlvmError> {
    let built = find(Path::new(env!("BUILT_SYSROOT")), &env!("BUILT_VERSION").replace('|', "\n"));
    built.or_else(|error| {
        let ask = |arguments: &[&str]| {
            let output = Command::new("rustc").args(arguments).output().ok()?;
            String::from_utf8(output.stdout).ok().filter(|text| !text.is_empty())
        };
        match (ask(&["--print", "sysroot"]), ask(&["-vV"])) {
            (Some(sysroot), Some(version)) => find(Path::new(sysroot.trim()), &version),
            _ => Err(error),
        }
    })
}

/// Opens the library and loads from it what `symbols` needs.
pub fn open<T>(path: &Path, symbols: impl FnOnce(Library) -> Result<T, Error>) -> Result<T, LlvmError> {
    // SAFETY: the toolchain's own LLVM; its initialisers are what rustc itself runs.
    let opened = unsafe { Library::new(path) };
    opened
        .and_then(symbols)
        .map_err(|error| LlvmError::Unknown { path: path.to_owned(), cause: with_source(&error) })
}

/// An error and its reason: "dlopen failed" alone says nothing.
fn with_source(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {source}"))
}

/// A hint about the toolchain with this `version`, unless it is the known one.
pub fn note(version: &str) -> Option<String> {
    let release = field(version, "release: ").unwrap_or("?");
    (number(release, 1) != Some(RUST)).then(|| {
        format!(
            "\nThis may be the toolchain: cuda_builder knows Rust 1.{RUST}, this is {release}. Pin the other in \
             rust-toolchain.toml (`channel = \"1.{RUST}.0\"`), or update cuda_builder"
        )
    })
}

fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().find_map(|line| line.strip_prefix(name))
}

/// The n-th number of a version such as `1.95.0-nightly`.
fn number(version: &str, n: usize) -> Option<u32> {
    version.split(['.', '-']).nth(n)?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sysroot with a file of this name in its `lib`.
    fn sysroot(library: &str) -> tempfile::TempDir {
        let sysroot = tempfile::tempdir().unwrap();
        let folder = sysroot.path().join(if cfg!(windows) { "bin" } else { "lib" });
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(library), "").unwrap();
        sysroot
    }

    const KNOWN: &str = "rustc 1.95.0 (abc 2026-04-14)\nrelease: 1.95.0\nLLVM version: 22.1.2\n";
    const NEWER: &str = "rustc 1.99.0 (abc 2026-10-01)\nrelease: 1.99.0\nLLVM version: 24.1.0\n";

    #[test]
    fn a_library_that_cannot_be_opened_says_why() {
        let file = sysroot("libLLVM.so").path().join("gone.so");
        let error = open(&file, Ok).map(drop).unwrap_err().to_string();
        let LlvmError::Unknown { cause, .. } = open(&file, Ok).map(drop).unwrap_err() else {
            panic!("{error}")
        };
        assert!(cause.contains("gone.so"), "{cause}");
    }

    #[test]
    fn a_toolchain_without_llvm_is_told_from_one_with() {
        let with = sysroot("libLLVM.so.22.1-rust-1.95.0-stable");
        assert!(find(with.path(), KNOWN).unwrap().ends_with("libLLVM.so.22.1-rust-1.95.0-stable"));
        let without = sysroot("libstd.so");
        let text = find(without.path(), KNOWN).unwrap_err().to_string();
        let folder = without.path().join(if cfg!(windows) { "bin" } else { "lib" });
        for part in [&*folder.display().to_string(), "no LLVM library", "install the toolchain with rustup"] {
            assert!(text.contains(part), "`{part}` is not in: {text}");
        }
    }

    #[test]
    fn a_newer_llvm_is_refused_with_the_toolchain_to_pin() {
        let newer = sysroot("libLLVM.so.24.1-rust-1.99.0-stable");
        let text = find(newer.path(), NEWER).unwrap_err().to_string();
        for part in ["LLVM 24, of Rust 1.99.0", "libLLVM.so.24.1", "channel = \"1.95.0\""] {
            assert!(text.contains(part), "`{part}` is not in: {text}");
        }
    }

    #[test]
    fn what_is_no_library_is_an_error_with_its_path() {
        let broken = sysroot("libLLVM.so.22.1-rust-1.95.0-stable");
        let path = find(broken.path(), KNOWN).unwrap();
        let text = open(&path, Ok).unwrap_err().to_string();
        assert!(text.contains("libLLVM.so.22.1") && text.contains("cannot be used"), "{text}");
    }

    #[test]
    fn the_same_llvm_of_a_newer_rust_may_well_do() {
        let version = NEWER.replace("24.1.0", "22.1.9");
        assert!(find(sysroot("libLLVM.so.22.1-rust-1.99.0-stable").path(), &version).is_ok());
        assert!(note(&version).unwrap().contains("this is 1.99.0"));
        assert_eq!(note(KNOWN), None);
    }
}
