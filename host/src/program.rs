//! A program that is run on the virtual GPU, whatever it is linked with, and the files that its processes leave.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use tempfile::TempDir;

use crate::stand_in;

/// A program and its arguments, and what its environment needs.
pub struct Program<'a> {
    name: &'a OsStr,
    arguments: &'a [OsString],
    environment: Vec<(&'static str, OsString)>,
    /// Why there is no stand-in driver, which only programs need that are not linked with Warpsmith.
    without_driver: Option<anyhow::Error>,
}

impl<'a> Program<'a> {
    /// Prepares the stand-in driver for it, which takes a minute the first time; what cargo builds with Warpsmith's driver in it
    /// does without.
    pub fn new(program: &'a [OsString]) -> anyhow::Result<Self> {
        let here = std::env::current_dir().unwrap_or_default();
        let directory = match program.first().filter(|name| is_cargo(name)) {
            Some(_) if is_linked_with_driver(&here) => stand_in::directory_as_it_is()
                .context("what cargo builds here is linked with Warpsmith's, by Cargo.lock"),
            _ => stand_in::directory(),
        };
        match directory {
            Ok(directory) => Self::within(program, directory.environment()),
            Err(missing) => {
                let mut this = Self::within(program, vec![("WARPSMITH_DEVICE", "virtual".into())])?;
                this.without_driver = Some(missing);
                Ok(this)
            }
        }
    }

    /// The same program, with this environment instead.
    pub fn within(
        program: &'a [OsString],
        environment: Vec<(&'static str, OsString)>,
    ) -> anyhow::Result<Self> {
        let (name, arguments) = program.split_first().context("say which program to run, after `--`")?;
        Ok(Self { name, arguments, environment, without_driver: None })
    }

    /// How it is called.
    pub fn name(&self) -> String {
        self.name.display().to_string()
    }

    /// What is said of a program that made no CUDA call.
    pub fn no_call(&self) -> String {
        let why = self
            .without_driver
            .as_ref()
            .map(|missing| format!(", and no stand-in driver was there: {missing}"));
        format!("`{}` made no CUDA call{}", self.name(), why.unwrap_or_default())
    }

    /// The command that starts it.
    pub fn command(&self) -> Command {
        let mut command = Command::new(self.name);
        command.args(self.arguments).envs(self.environment.iter().cloned());
        command
    }
}

fn is_cargo(program: &OsStr) -> bool {
    Path::new(program).file_stem().is_some_and(|stem| stem == "cargo")
}

/// Whether the lock file of the project around a folder has Warpsmith's driver.
fn is_linked_with_driver(folder: &Path) -> bool {
    let lock = folder.ancestors().map(|folder| folder.join("Cargo.lock")).find(|lock| lock.is_file());
    let lock = lock.and_then(|lock| std::fs::read_to_string(lock).ok());
    lock.is_some_and(|lock| lock.lines().any(|line| line == "name = \"cuda_driver\""))
}

/// The exit code after Ctrl-C, as shells have it.
const INTERRUPTED: i32 = 130;

/// A folder for what processes leave, gone when it is dropped or the user interrupts.
pub fn folder(of: &str) -> anyhow::Result<TempDir> {
    let folder = tempfile::Builder::new()
        .prefix(&format!("warpsmith-{of}-"))
        .tempdir()
        .context("the reports need a folder for temporary files (TMPDIR)")?;
    // Nothing is dropped when a signal ends this process, and the folder would stay behind.
    let left = folder.path().to_owned();
    ctrlc::set_handler(move || {
        let _ = std::fs::remove_dir_all(&left);
        std::process::exit(INTERRUPTED);
    })?;
    Ok(folder)
}

/// The files with that ending that processes have left, in the order of their names.
pub fn left(folder: &Path, extension: &str) -> anyhow::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder)?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|found| found == extension));
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_of_warpsmith_s_needs_no_stand_in() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("host/src");
        std::fs::create_dir_all(&below).unwrap();
        for (package, linked) in [("cuda_driver", true), ("cuda_driver_sys", false)] {
            std::fs::write(folder.path().join("Cargo.lock"), format!("[[package]]\nname = \"{package}\"\n"))
                .unwrap();
            assert_eq!(is_linked_with_driver(&below), linked, "{package}");
        }
        for (program, cargo) in
            [("cargo", true), ("/usr/bin/cargo", true), ("cargo-nextest", false), ("python3", false)]
        {
            assert_eq!(is_cargo(OsStr::new(program)), cargo, "{program}");
        }
    }
}
