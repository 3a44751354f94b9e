//! `warpsmith check`: looks for mistakes in kernels.

use crate::cli::{Context, Outcome, Output};

/// Arguments of `check`.
#[derive(clap::Args, Debug)]
pub struct Check {
    #[command(flatten)]
    output: Output,
}

impl Check {
    /// Runs the command.
    pub fn run(&self, _context: &Context) -> anyhow::Result<Outcome> {
        anyhow::bail!("`check` is not part of this build")
    }
}
