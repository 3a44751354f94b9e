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
    /// Prepares the stand-in driver for it.
    pub fn new(program: &'a [OsString]) -> anyhow::Result<Self> {
        match stand_in::directory() {
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
