//! `warpsmith driver-dir`: the folder that holds the stand-in driver.

use warpsmith_cuda::stand_in::DriverDirectory;

use crate::cli::{Context, Outcome};
use crate::terminal;

/// Prints a folder with `libcuda.so.1`, the stand-in driver: put it first on the library path of a program.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct DriverDir {}

const EXAMPLES: &str = "\
Examples:
  LD_LIBRARY_PATH=$(warpsmith driver-dir) ./my_driver_api_program";

impl DriverDir {
    /// Runs the command.
    pub fn run(&self, _context: &Context) -> anyhow::Result<Outcome> {
        terminal::print(&DriverDirectory::prepare()?.path().display().to_string())?;
        Ok(Outcome::Well)
    }
}
