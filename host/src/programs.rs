//! Programs of the CUDA toolkit, where this machine has them. None is needed; each adds something.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The file of a program: on the search path, in a toolkit that the environment names, in the usual place, or in a
/// Python environment that holds NVIDIA's wheels.
pub fn find(name: &str) -> Option<PathBuf> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&paths).collect();
    for variable in ["CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"] {
        folders.extend(std::env::var_os(variable).map(|home| PathBuf::from(home).join("bin")));
    }
    folders.push("/usr/local/cuda/bin".into());
    folders.push("/opt/cuda/bin".into());
    if let Some(environment) = std::env::var_os("VIRTUAL_ENV") {
        folders.extend(wheels(Path::new(&environment)));
    }
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    folders.into_iter().map(|folder| folder.join(&file)).find(|path| path.is_file())
}

/// `lib/python3.*/site-packages/nvidia/*/bin` of a Python environment.
fn wheels(environment: &Path) -> Vec<PathBuf> {
    let entries = |folder: PathBuf| {
        std::fs::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .collect::<Vec<_>>()
    };
    entries(environment.join("lib"))
        .into_iter()
        .flat_map(|python| entries(python.join("site-packages/nvidia")))
        .map(|package| package.join("bin"))
        .collect()
}

/// A program's output, if it ends well.
pub fn output(program: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
