//! `warpsmith profile`: counters per source line.

use crate::cli::{Context, Outcome, Output};

/// Arguments of `profile`.
#[derive(clap::Args, Debug)]
pub struct Profile {
    /// The kernel
    kernel: String,

    #[command(flatten)]
    output: Output,
}

impl Profile {
    /// Runs the command.
    pub fn run(&self, _context: &Context) -> anyhow::Result<Outcome> {
        anyhow::bail!("`profile` is not part of this build")
    }
}
