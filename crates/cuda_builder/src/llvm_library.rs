//! The LLVM inside the toolchain: where it is, and whether it is one that this crate knows.

use crate::error::CudaBuilderError;
use crate::front_end::Toolchain;
use std::fs;
use std::path::PathBuf;

/// The major version of LLVM whose C API and whose NVPTX back end this crate was written for.
const LLVM: u32 = 22;
/// The minor version of the Rust that it was written for, whose panics and names it recognises.
const RUST: u32 = 95;

/// The shared LLVM of the toolchain: `libLLVM.so.22.1-rust-1.95.0-stable` on Linux (the file that ends in `.so` beside
/// it is a linker script), `libLLVM.dylib` on macOS.
pub fn of(toolchain: &Toolchain) -> Result<PathBuf, CudaBuilderError> {
    let folder = toolchain.sysroot.join(if cfg!(windows) { "bin" } else { "lib" });
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
    let path = found.pop().ok_or(CudaBuilderError::NoLlvm { searched: folder })?;
    // The text of `rustc -vV`. Another LLVM may have the same functions and mean something else by them.
    match field(&toolchain.version, "LLVM version: ").and_then(|version| number(version, 0)) {
        Some(major) if major != LLVM => {
            let release = field(&toolchain.version, "release: ").unwrap_or("?");
            let cause = format!("it is LLVM {major}, of Rust {release}");
            Err(CudaBuilderError::WrongLlvm { path, cause })
        }
        _ => Ok(path),
    }
}

/// A failure of the lowering, with a word on the toolchain where that is not the one that this crate was written for.
pub fn with_version(toolchain: &Toolchain, error: CudaBuilderError) -> CudaBuilderError {
    let release = field(&toolchain.version, "release: ").unwrap_or("?");
    if number(release, 1) == Some(RUST) {
        return error;
    }
    let note = format!(
        "\nThis may be the toolchain: cuda_builder knows Rust 1.{RUST}, this is {release}. Pin the other in \
         rust-toolchain.toml (`channel = \"1.{RUST}.0\"`), or update cuda_builder"
    );
    match error {
        CudaBuilderError::Lowering(text) => CudaBuilderError::Lowering(text + &note),
        CudaBuilderError::Crashed { how, stderr } => {
            CudaBuilderError::Crashed { how, stderr: stderr + &note }
        }
        other => other,
    }
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

    /// A sysroot with a file of that name in its `lib`, and a compiler that says `version` of itself.
    fn toolchain(library: Option<&str>, version: &str) -> (tempfile::TempDir, Toolchain) {
        let sysroot = tempfile::tempdir().unwrap();
        let folder = sysroot.path().join(if cfg!(windows) { "bin" } else { "lib" });
        fs::create_dir_all(&folder).unwrap();
        if let Some(name) = library {
            fs::write(folder.join(name), "").unwrap();
        }
        let toolchain = Toolchain {
            rustc: "rustc".into(),
            cargo: "cargo".into(),
            sysroot: sysroot.path().to_owned(),
            host: "x86_64-unknown-linux-gnu".into(),
            version: version.to_owned(),
        };
        (sysroot, toolchain)
    }

    const KNOWN: &str = "rustc 1.95.0 (abc 2026-04-14)\nrelease: 1.95.0\nLLVM version: 22.1.2\n";
    const NEWER: &str = "rustc 1.99.0 (abc 2026-10-01)\nrelease: 1.99.0\nLLVM version: 24.1.0\n";

    #[test]
    fn a_toolchain_without_llvm_is_told_from_one_with() {
        let (_kept, with) = toolchain(Some("libLLVM.so.22.1-rust-1.95.0-stable"), KNOWN);
        assert!(of(&with).unwrap().ends_with("libLLVM.so.22.1-rust-1.95.0-stable"));
        let (_kept, without) = toolchain(Some("libstd.so"), KNOWN);
        let text = of(&without).unwrap_err().to_string();
        let folder = without.sysroot.join(if cfg!(windows) { "bin" } else { "lib" });
        for part in [&*folder.display().to_string(), "no LLVM library", "install the toolchain with rustup"] {
            assert!(text.contains(part), "`{part}` is not in: {text}");
        }
    }

    #[test]
    fn a_newer_llvm_is_refused_with_the_toolchain_to_pin() {
        let (_kept, newer) = toolchain(Some("libLLVM.so.24.1-rust-1.99.0-stable"), NEWER);
        let text = of(&newer).unwrap_err().to_string();
        for part in ["LLVM 24, of Rust 1.99.0", "libLLVM.so.24.1", "channel = \"1.95.0\""] {
            assert!(text.contains(part), "`{part}` is not in: {text}");
        }
    }

    #[test]
    fn failures_under_a_newer_rust_say_so() {
        let version = NEWER.replace("24.1.0", "22.1.9");
        let (_kept, newer) = toolchain(Some("libLLVM.so.22.1-rust-1.99.0-stable"), &version);
        assert!(of(&newer).is_ok(), "the same LLVM may well do");
        let text = with_version(&newer, CudaBuilderError::Lowering("undefined: x".into())).to_string();
        assert!(text.starts_with("undefined: x") && text.contains("this is 1.99.0"), "{text}");
        let (_kept, known) = toolchain(None, KNOWN);
        assert_eq!(with_version(&known, CudaBuilderError::Lowering("x".into())).to_string(), "x");
    }
}
