//! `warpsmith driver-dir`: prints the stand-in driver's folder.

use crate::cli::{Context, Outcome, Output};

/// Arguments of `driver-dir`.
#[derive(clap::Args, Debug)]
pub struct DriverDir {
    #[command(flatten)]
    output: Output,
}

impl DriverDir {
    /// Runs the command.
    pub fn run(&self, _context: &Context) -> anyhow::Result<Outcome> {
        anyhow::bail!("`driver-dir` is not part of this build")
    }
}
