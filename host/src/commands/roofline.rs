//! `warpsmith roofline`: operations per byte against the device.

use crate::cli::{Context, Outcome, Output};

/// Arguments of `roofline`.
#[derive(clap::Args, Debug)]
pub struct Roofline {
    #[command(flatten)]
    output: Output,
}

impl Roofline {
    /// Runs the command.
    pub fn run(&self, _context: &Context) -> anyhow::Result<Outcome> {
        anyhow::bail!("`roofline` is not part of this build")
    }
}
