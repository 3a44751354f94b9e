//! `warpsmith run`: runs a driver-API program on the virtual GPU.

use crate::cli::{Context, Outcome, Output};

/// Arguments of `run`.
#[derive(clap::Args, Debug)]
pub struct Run {
    #[command(flatten)]
    output: Output,
}

impl Run {
    /// Runs the command.
    pub fn run(&self, _context: &Context) -> anyhow::Result<Outcome> {
        anyhow::bail!("`run` is not part of this build")
    }
}
