//! `warpsmith inspect`: shows what a kernel became.

use crate::cli::{Context, Outcome, Output};

/// Arguments of `inspect`.
#[derive(clap::Args, Debug)]
pub struct Inspect {
    /// The kernel
    kernel: String,

    #[command(flatten)]
    output: Output,
}

impl Inspect {
    /// Runs the command.
    pub fn run(&self, _context: &Context) -> anyhow::Result<Outcome> {
        anyhow::bail!("`inspect` is not part of this build")
    }
}
