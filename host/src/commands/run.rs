//! `warpsmith run`: any program on the CUDA driver API, on the virtual GPU.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitStatus;

use serde::Serialize;

use crate::answer::{Context, Outcome, Output};
use crate::checking::{self, Search};
use crate::program::Program;
use crate::terminal;

/// Arguments of `run`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Run {
    /// Write the counters of every launch to this file
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,

    /// Look for memory errors, races, uninitialised reads and barrier mistakes, as `check -- PROGRAM` does
    #[arg(long, conflicts_with = "profile")]
    check: bool,

    #[command(flatten, next_help_heading = "With --check")]
    search: Search,

    /// The program and its arguments, after `--`
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    program: Vec<OsString>,

    #[command(flatten)]
    output: Output,
}

/// The shape of `run --json`.
#[derive(Serialize)]
struct Answer {
    program: String,
    /// The program's exit code; `null` if a signal ended it.
    exit_code: Option<i32>,
    /// The file with the counters, if they were asked for.
    profile: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  warpsmith run -- ./my_driver_api_program
  warpsmith run --profile counters.json -- python3 my_script.py
  warpsmith run --check --schedules 10 -- ./my_program
  warpsmith run --json -- ./my_program      {\"program\", \"exit_code\", \"profile\"}

With --json the program's own output goes to standard error.
The program must use the CUDA driver API (libcuda.so.1), as cust, cudarc and PyCUDA do. Programs on the \
CUDA runtime API (libcudart) need a real driver.
The exit code is the program's own.";

impl Run {
    /// Runs the command.
    pub fn run(&self, _context: &Context) -> anyhow::Result<Outcome> {
        if self.check {
            return checking::program(&self.program, &self.search, self.output);
        }
        anyhow::ensure!(
            self.search.is_default(),
            "--tool, --schedules, --seed, --deny and --format say how to check: add --check"
        );
        let program = Program::new(&self.program)?.with_driver()?;
        let mut command = program.command();
        if let Some(file) = &self.profile {
            let file = std::path::absolute(file)?;
            // Said before the program runs, not after; each of its processes may have a file of its own.
            let folder = file.parent().filter(|folder| !folder.is_dir());
            anyhow::ensure!(!file.is_dir(), "{} is a folder; name a file in it", file.display());
            if let Some(folder) = folder {
                anyhow::bail!(
                    "{} cannot be written: there is no folder {}",
                    file.display(),
                    folder.display()
                );
            }
            command.env("WARPSMITH_PROFILE", file);
        }
        if self.output.json {
            command.stdout(std::io::stderr());
        }
        let name = program.name();
        let status = command.status().map_err(|error| anyhow::anyhow!("cannot run `{name}`: {error}"))?;
        if self.output.json {
            terminal::print_json(&Answer {
                program: name.clone(),
                exit_code: status.code(),
                profile: self.profile.clone(),
            })?;
        }
        outcome(&name, status)
    }
}

/// The program's exit code becomes this program's own.
fn outcome(name: &str, status: ExitStatus) -> anyhow::Result<Outcome> {
    match status.code() {
        Some(_) => Ok(Outcome::of(status)),
        None => anyhow::bail!("`{name}` was ended by a signal ({status})"),
    }
}
