//! `warpsmith list`: lists the kernels.

use crate::cli::{Context, Outcome, Output};

/// Arguments of `list`.
#[derive(clap::Args, Debug)]
pub struct List {
    #[command(flatten)]
    output: Output,
}

impl List {
    /// Runs the command.
    pub fn run(&self, _context: &Context) -> anyhow::Result<Outcome> {
        anyhow::bail!("`list` is not part of this build")
    }
}
