//! The toolchain that compiles device code, and the folder where it works.

use crate::error::CudaBuilderError;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The toolchain that compiles device code: the one that runs the build script.
pub struct Toolchain {
    pub rustc: PathBuf,
    pub cargo: PathBuf,
    pub sysroot: PathBuf,
    pub host: String,
    pub version: String,
}

impl Toolchain {
    /// The toolchain of this process's environment, asked once.
    pub fn find() -> Result<&'static Self, CudaBuilderError> {
        static FOUND: OnceLock<Toolchain> = OnceLock::new();
        if let Some(found) = FOUND.get() {
            return Ok(found);
        }
        let asked = Self::ask()?;
        Ok(FOUND.get_or_init(|| asked))
    }

    fn ask() -> Result<Self, CudaBuilderError> {
        let program = |variable: &str, default: &str| {
            std::env::var_os(variable).map_or_else(|| default.into(), PathBuf::from)
        };
        let (rustc, cargo) = (program("RUSTC", "rustc"), program("CARGO", "cargo"));
        let ask = |argument: &[&str]| -> Result<String, CudaBuilderError> {
            let output = Command::new(&rustc)
                .args(argument)
                .output()
                .map_err(|cause| CudaBuilderError::CannotRun { program: rustc.clone(), cause })?;
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        };
        let version = ask(&["-vV"])?;
        let host =
            version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default().to_owned();
        let sysroot = PathBuf::from(ask(&["--print", "sysroot"])?.trim());
        Ok(Self { rustc, cargo, sysroot, host, version })
    }
}

/// The target folder that device builds go below: in a build script, that of the build which runs it; elsewhere, the one
/// that cargo would take for the crate. `variable` is the environment.
pub fn target_folder(
    toolchain: &Toolchain,
    crate_path: &Path,
    variable: impl Fn(&str) -> Option<OsString>,
) -> PathBuf {
    if let Some(out) = variable("OUT_DIR") {
        // target/[TRIPLE/]PROFILE/build/PACKAGE-HASH/out
        if let Some(target) = Path::new(&out).ancestors().nth(4) {
            return target.to_owned();
        }
    }
    let set = ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR"].into_iter().find_map(&variable);
    let set = set.filter(|folder| !folder.is_empty()).and_then(|folder| std::path::absolute(folder).ok());
    set.or_else(|| workspace_target(toolchain, crate_path)).unwrap_or_else(|| crate_path.join("target"))
}

/// Cargo's answer: the folder of the crate's workspace, or the one that a configuration file names.
fn workspace_target(toolchain: &Toolchain, crate_path: &Path) -> Option<PathBuf> {
    let output = Command::new(&toolchain.cargo)
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .current_dir(crate_path)
        // Relative, they would mean another folder there; they were looked at before.
        .env_remove("CARGO_TARGET_DIR")
        .env_remove("CARGO_BUILD_TARGET_DIR")
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
    metadata["target_directory"].as_str().map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn outside_of_a_build_script_cargos_own_folder_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        // As cargo writes it: without links.
        let root = fs::canonicalize(folder.path()).unwrap();
        let kernels = root.join("kernels");
        fs::create_dir_all(kernels.join("src")).unwrap();
        fs::write(root.join("Cargo.toml"), "[workspace]\nresolver = \"3\"\nmembers = [\"kernels\"]\n")
            .unwrap();
        fs::write(kernels.join("Cargo.toml"), "[package]\nname = \"kernels\"\nversion = \"0.1.0\"\n")
            .unwrap();
        fs::write(kernels.join("src/lib.rs"), "").unwrap();
        let toolchain = Toolchain::find().unwrap();
        let target = |set: &[(&str, &str)]| {
            target_folder(toolchain, &kernels, |name| {
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
            })
        };
        assert_eq!(target(&[]), root.join("target"), "the workspace's");
        assert_eq!(target(&[("CARGO_TARGET_DIR", "/elsewhere")]), Path::new("/elsewhere"));
        let below = std::env::current_dir().unwrap().join("below");
        assert_eq!(target(&[("CARGO_TARGET_DIR", "below")]), below, "relative to this program");
        let script = [("CARGO_TARGET_DIR", "/elsewhere"), ("OUT_DIR", "/t/release/build/kernels-1a2b/out")];
        assert_eq!(target(&script), Path::new("/t"), "in a build script");
        fs::create_dir(root.join(".cargo")).unwrap();
        fs::write(root.join(".cargo/config.toml"), "[build]\ntarget-dir = \"configured\"\n").unwrap();
        assert_eq!(target(&[]), root.join("configured"));
    }
}
