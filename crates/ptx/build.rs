//! Names the two lines that a workspace without CUDA needs: `cust_raw`'s build script fails without them, and does not say so.
//!
//! Cargo builds first what most crates wait for. This crate is ahead of `cust_raw`; the host's own crates would be too late.

use std::env::{var, var_os};
use std::path::{Path, PathBuf};

/// Variables and folders by which the published `find_cuda_helper` finds CUDA.
const VARIABLES: [&str; 4] = ["CUDA_PATH", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR", "CUDA_LIBRARY_PATH"];
const FOLDERS: [&str; 2] = ["/usr/local/cuda", "/opt/cuda"];

fn main() {
    // A target folder elsewhere hides the workspace, and then nothing is said.
    let out = var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    let Some(lock) = out.ancestors().map(|folder| folder.join("Cargo.lock")).find(|lock| lock.is_file())
    else {
        return;
    };
    let has_cuda = VARIABLES.iter().any(|name| var_os(name).is_some())
        || FOLDERS.iter().any(|folder| Path::new(folder).is_dir());
    let text = std::fs::read_to_string(&lock).unwrap_or_default();
    let is_published =
        source(&text, "find_cuda_helper").is_some_and(|source| source.starts_with("registry+"));
    if has_cuda || cfg!(windows) || !is_published {
        return;
    }
    let helper = Path::new(&var("CARGO_MANIFEST_DIR").unwrap_or_default()).with_file_name("find_cuda_helper");
    let from = match source(&text, "ptx").and_then(|source| source.strip_prefix("git+")) {
        Some(git) => format!("git = {:?}", git.split(['?', '#']).next().unwrap_or(git)),
        None => format!("path = {:?}", helper.display().to_string()),
    };
    eprintln!(
        "error: there is no CUDA to link, and nothing says to do without: {} needs these two lines\n\n    \
         [patch.crates-io]\n    find_cuda_helper = {{ {from} }}\n",
        lock.with_file_name("Cargo.toml").display()
    );
    std::process::exit(1);
}

/// The source of a package in a lock file; a package of a path has none.
fn source<'a>(lock: &'a str, package: &str) -> Option<&'a str> {
    let name = format!("name = \"{package}\"");
    let entry = lock.split("[[package]]").find(|entry| entry.lines().any(|line| line == name))?;
    entry.lines().find_map(|line| line.strip_prefix("source = \"")?.strip_suffix('"'))
}
