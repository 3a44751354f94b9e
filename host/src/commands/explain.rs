//! `warpsmith explain`: draws the arithmetic of the memory system.

use crate::cli::{Context, Outcome, Output};

/// Arguments of `explain`.
#[derive(clap::Args, Debug)]
pub struct Explain {
    #[command(flatten)]
    output: Output,
}

impl Explain {
    /// Runs the command.
    pub fn run(&self, _context: &Context) -> anyhow::Result<Outcome> {
        anyhow::bail!("`explain` is not part of this build")
    }
}
