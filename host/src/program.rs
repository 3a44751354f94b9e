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
    /// Whether it is linked with Warpsmith's driver.
    linked: bool,
    /// Why there is no stand-in driver, which only programs need that are not linked with Warpsmith.
    without_driver: Option<anyhow::Error>,
}

impl<'a> Program<'a> {
    /// Prepares the stand-in driver for it, which takes a minute the first time; what cargo builds with Warpsmith's driver in it
    /// does without.
    pub fn new(program: &'a [OsString]) -> anyhow::Result<Self> {
        let name = program.first().context("say which program to run, after `--`")?;
        let file = found(name)
            .with_context(|| format!("cannot run `{}`: there is no such program", name.display()))?;
        let here = std::env::current_dir().unwrap_or_default();
        let linked = is_cargo(name) && is_linked_with_driver(&here) || has_driver(&file);
        let directory = match linked {
            true => stand_in::directory_as_it_is().context("it is linked with Warpsmith's driver"),
            false => stand_in::directory(),
        };
        match directory {
            Ok(directory) => Self::within(program, directory.environment()),
            Err(missing) => {
                let mut this = Self::within(program, vec![("WARPSMITH_DEVICE", "virtual".into())])?;
                (this.linked, this.without_driver) = (linked, Some(missing));
                Ok(this)
            }
        }
    }

    /// The program, which cannot run without a driver: one of its own, or the stand-in.
    pub fn with_driver(mut self) -> anyhow::Result<Self> {
        match self.without_driver.take() {
            Some(missing) if !self.linked => Err(missing),
            _ => Ok(self),
        }
    }

    /// The same program, with this environment instead.
    pub fn within(
        program: &'a [OsString],
        environment: Vec<(&'static str, OsString)>,
    ) -> anyhow::Result<Self> {
        let (name, arguments) = program.split_first().context("say which program to run, after `--`")?;
        Ok(Self { name, arguments, environment, linked: false, without_driver: None })
    }

    /// How it is called.
    pub fn name(&self) -> String {
        self.name.display().to_string()
    }

    /// The message about a program that made no CUDA call.
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

/// The file of a program, by its path or by its name in `PATH`.
fn found(program: &OsStr) -> Option<PathBuf> {
    let named = Path::new(program);
    if named.components().count() > 1 {
        return Some(named.to_owned()).filter(|file| file.is_file());
    }
    let path = std::env::var_os("PATH")?;
    let name = |folder: PathBuf| folder.join(named).with_extension(std::env::consts::EXE_EXTENSION);
    std::env::split_paths(&path)
        .flat_map(|folder| [folder.join(named), name(folder)])
        .find(|file| file.is_file())
}

/// Whether a program is linked with Warpsmith's driver: it has the name of one of its variables.
fn has_driver(file: &Path) -> bool {
    const NAME: &[u8] = b"WARPSMITH_CHECK";
    let Ok(bytes) = std::fs::read(file) else { return false };
    let is_executable = !bytes.starts_with(b"#!");
    is_executable && bytes.windows(NAME.len()).any(|at| at == NAME)
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
    fn a_program_is_looked_for_before_anything_is_built_for_it() {
        let missing = [OsString::from("no-such-program")];
        let said = Program::new(&missing).map(|_| ()).unwrap_err().to_string();
        assert_eq!(said, "cannot run `no-such-program`: there is no such program");
        assert!(found(OsStr::new("cargo")).is_some() && found(OsStr::new("./cargo")).is_none());
        // This test is linked with it, cargo is not.
        let here = std::env::current_exe().unwrap();
        assert!(has_driver(&here) && !has_driver(&found(OsStr::new("cargo")).unwrap()));
    }

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
