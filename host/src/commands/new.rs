//! `warpsmith new`: writes a new kernel or project.

use crate::cli::{Context, Outcome, Output};

/// Arguments of `new`.
#[derive(clap::Args, Debug)]
pub struct New {
    /// The kernel's name
    name: String,

    #[command(flatten)]
    output: Output,
}

impl New {
    /// Runs the command.
    pub fn run(&self, _context: &Context) -> anyhow::Result<Outcome> {
        anyhow::bail!("`new` is not part of this build")
    }
}
