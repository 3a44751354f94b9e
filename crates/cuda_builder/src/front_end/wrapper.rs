//! The compiler that cargo runs for the device build: rustc, behind a wrapper that adds what only device crates get.
//!
//! Two unstable flags of the stock compiler are needed, and this is the one place that names them. They go to the
//! device's own crates: never to build scripts, procedural macros, or the probing compiles that build scripts run,
//! all of which would take `RUSTC_BOOTSTRAP` for a nightly compiler. Cargo cannot tell these apart, a wrapper can.

use crate::error::CudaBuilderError;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// For every device crate:
/// - MIR jump threading copies blocks that hold calls, so that a barrier could end up once in each arm of a branch;
/// - no library feature of nightly: device code is stable Rust.
const DEVICE_FLAGS: &str = "-Zmir-enable-passes=-JumpThreading -Zallow-features=";

/// The crate that device crates know as `std`, so that none needs to say `#![no_std]`: the standard library of this target
/// is the host's, and one crate with it would bring its panics along.
const STD: &str = "#![no_std]\npub use core::*;\n";
/// Its rustc options: an rlib of bitcode without code, as the linker of bitcode takes it.
const STD_FLAGS: [&str; 7] = [
    "--crate-name=std",
    "--crate-type=rlib",
    "--edition=2024",
    "-Cpanic=abort",
    "-Cmetadata=cuda_builder",
    "-Clinker-plugin-lto",
    "-Csymbol-mangling-version=v0",
];

/// Crates that choose instructions of the host's processor, and the `cfg` by which each takes its portable code instead.
/// The device build is one for the host's target, so that they see an x86-64 or aarch64; upstream's is not.
const PORTABLE: &str = "\
sha1 feature=\"force-soft\"
sha1 sha1_backend=\"soft\"
sha2 feature=\"force-soft\"
sha2 sha2_backend=\"soft\"
aes aes_force_soft
aes aes_backend=\"soft\"
chacha20 chacha20_force_soft
chacha20 chacha20_backend=\"soft\"
poly1305 poly1305_force_soft
poly1305 poly1305_backend=\"soft\"
polyval polyval_force_soft
polyval polyval_backend=\"soft\"
blake3 blake3_sse2_rust
blake3 blake3_sse41_rust
blake3 blake3_avx2_rust
blake3 feature=\"no_sse2\"
blake3 feature=\"no_sse41\"
blake3 feature=\"no_avx2\"
blake3 feature=\"no_avx512\"";
/// Settings of build scripts or features that the device build takes back: `libm` would take its square root from
/// x86's instructions, inlined where its name is no longer seen; `blake3` would call assembly of its own; `glam` has its
/// vectors of integers in the same default as `std`, and does without.
const TAKEN_BACK: &str = "\
glam feature=\"std\"
libm arch_enabled
libm feature=\"arch\"
blake3 blake3_sse2_ffi
blake3 blake3_sse41_ffi
blake3 blake3_avx2_ffi
blake3 blake3_avx512_ffi";

/// Crates that choose such instructions by what the target always has, with no switch of their own: they are compiled as for
/// a target without SSE2. Only their `cfg`s see this; what an argument is passed in is the device's choice.
const WITHOUT_SSE2: &str = "crc32fast";

/// The variable that tells the wrapper where the real compiler is.
pub const RUSTC_VARIABLE: &str = "CUDA_BUILDER_RUSTC";

/// The variable with the gates that are open, between unit separators.
pub const GATES_VARIABLE: &str = "CUDA_BUILDER_GATES";

const SOURCE: &str = include_str!("rustc_wrapper.rs.in");

/// A number that differs when the wrapper does.
pub fn fingerprint() -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    (SOURCE, DEVICE_FLAGS, STD, STD_FLAGS, PORTABLE, TAKEN_BACK, WITHOUT_SSE2).hash(&mut hasher);
    hasher.finish()
}

/// The wrapper's path, compiled by the toolchain itself into `folder` unless it is there already.
pub fn compile(rustc: &Path, version: &str, folder: &Path) -> Result<PathBuf, CudaBuilderError> {
    let file_error = |what, path: &Path| {
        let path = path.to_owned();
        move |cause| CudaBuilderError::File { what, path, cause }
    };
    let source = format!(
        "const DEVICE_FLAGS: &str = {DEVICE_FLAGS:?};\nconst STD: &str = {folder:?};\n\
         const PORTABLE: &str = {PORTABLE:?};\nconst TAKEN_BACK: &str = {TAKEN_BACK:?};\n\
         const WITHOUT_SSE2: &str = {WITHOUT_SSE2:?};\n{SOURCE}\n// {:x} {}",
        fingerprint(),
        version.replace('\n', " ")
    );
    let source_path = folder.join("rustc_wrapper.rs");
    let program = folder.join(format!("rustc_wrapper{}", std::env::consts::EXE_SUFFIX));
    if program.is_file() && fs::read_to_string(&source_path).is_ok_and(|known| known == source) {
        return Ok(program);
    }
    fs::create_dir_all(folder).map_err(file_error("cannot make the folder", folder))?;
    let folder = &fs::canonicalize(folder).map_err(file_error("cannot find", folder))?;
    run(rustc, &STD_FLAGS, STD, folder, "libstd.rlib")?;
    let flags = [
        "--edition=2021",
        "-Copt-level=0",
        "-Cdebuginfo=0",
        "--crate-name=rustc_wrapper",
        "--crate-type=bin",
    ];
    run(rustc, &flags, &source, folder, &format!("rustc_wrapper{}", std::env::consts::EXE_SUFFIX))?;
    // The source is written last: it says that the program beside it was made from it.
    let fresh = folder.join("rustc_wrapper_new.rs");
    fs::write(&fresh, &source).map_err(file_error("cannot write", &fresh))?;
    fs::rename(&fresh, &source_path).map_err(file_error("cannot write", &source_path))?;
    Ok(program)
}

/// Compiles a text to a file in `folder`, whose path has no part in what is made: crates know the `std` that they were compiled
/// with by a hash, and a target folder may be moved.
fn run(rustc: &Path, flags: &[&str], source: &str, folder: &Path, to: &str) -> Result<(), CudaBuilderError> {
    let failed = |cause| CudaBuilderError::CannotRun { program: rustc.to_owned(), cause };
    let mut command = Command::new(rustc);
    command.current_dir(folder).arg("--remap-path-prefix").arg(format!("{}=.", folder.display()));
    command.args(flags).args(["-o", to, "-"]).env_remove("RUSTC_BOOTSTRAP");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(failed)?;
    let written = child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(source.as_bytes()));
    let output = child.wait_with_output().map_err(failed)?;
    if !output.status.success() {
        let cause = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(CudaBuilderError::BadArtifact { path: folder.join(to), cause });
    }
    written.map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moved_target_folder_has_the_same_std() {
        let made = || {
            let folder = tempfile::tempdir().unwrap();
            compile(Path::new("rustc"), "rustc 1", folder.path()).unwrap();
            fs::read(folder.path().join("libstd.rlib")).unwrap()
        };
        assert!(made() == made());
    }
}
