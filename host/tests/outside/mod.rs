//! Cargo in a workspace outside this repository. All of them share a target folder.

use std::path::Path;
use std::process::{Command, Output};

/// A cargo command in a workspace outside this repository: as a user types it, but quicker to build, and without the network.
pub fn cargo(folder: &Path, command: &str) -> Output {
    let (subcommand, options) = command.split_once(' ').unwrap_or((command, ""));
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("new-project");
    let mut command = Command::new("cargo");
    command
        .arg(subcommand)
        .args(options.split_whitespace())
        // The registry was filled when this repository was built; the lock file names the same versions.
        .arg("--offline")
        .args(["--config", "profile.dev.debug=false"])
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", target)
        .env("WARPSMITH_DEVICE", "virtual");
    // The project asks for an optimised virtual GPU, package by package; a thousand numbers need none.
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    let optimised = manifest.lines().filter_map(|line| line.split_once(" = { opt-level = "));
    for (package, _) in optimised {
        command.arg("--config").arg(format!("profile.dev.package.{package}.opt-level=0"));
    }
    // What cargo tells the tests of this workspace is not true of another one.
    for (variable, _) in std::env::vars() {
        let ours = variable.starts_with("CARGO_PKG") || variable.starts_with("CARGO_MANIFEST");
        if ours || variable == "RUSTUP_TOOLCHAIN" || variable.starts_with("WARPSMITH_CHECK") {
            command.env_remove(variable);
        }
    }
    command.output().expect("cargo starts")
}

pub fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}
