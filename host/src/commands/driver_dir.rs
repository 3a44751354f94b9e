//! `warpsmith driver-dir`: the folder that holds the stand-in driver.

use serde::Serialize;

use crate::answer::{Context, Outcome, Output};
use crate::stand_in;

/// Prints a folder with `libcuda.so.1`, the stand-in driver: put it first on the library path of a program.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct DriverDir {
    #[command(flatten)]
    output: Output,
}

const EXAMPLES: &str = "\
Examples:
  LD_LIBRARY_PATH=$(warpsmith driver-dir) ./my_driver_api_program
  warpsmith driver-dir --json      {\"folder\"}";

/// The shape of `driver-dir --json`.
#[derive(Serialize)]
struct Answer {
    folder: String,
}

impl DriverDir {
    /// Runs the command.
    pub fn run(&self, _context: &Context) -> anyhow::Result<Outcome> {
        let answer = Answer { folder: stand_in::directory()?.path().display().to_string() };
        self.output.print(&answer, |answer| answer.folder.clone())?;
        Ok(Outcome::Well)
    }
}
