//! `warpsmith doctor`: says what is installed.

use crate::cli::{Context, Outcome, Output};

/// Arguments of `doctor`.
#[derive(clap::Args, Debug)]
pub struct Doctor {
    #[command(flatten)]
    output: Output,
}

impl Doctor {
    /// Runs the command.
    pub fn run(&self, _context: &Context) -> anyhow::Result<Outcome> {
        anyhow::bail!("`doctor` is not part of this build")
    }
}
