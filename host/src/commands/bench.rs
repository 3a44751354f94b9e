//! `warpsmith bench`: times kernels on a real GPU.

use crate::cli::{Context, Outcome, Output};

/// Arguments of `bench`.
#[derive(clap::Args, Debug)]
pub struct Bench {
    #[command(flatten)]
    output: Output,
}

impl Bench {
    /// Runs the command.
    pub fn run(&self, _context: &Context) -> anyhow::Result<Outcome> {
        anyhow::bail!("`bench` is not part of this build")
    }
}
