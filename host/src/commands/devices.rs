//! `warpsmith devices`: lists the devices.

use crate::cli::{Context, Outcome, Output};

/// Arguments of `devices`.
#[derive(clap::Args, Debug)]
pub struct Devices {
    #[command(flatten)]
    output: Output,
}

impl Devices {
    /// Runs the command.
    pub fn run(&self, _context: &Context) -> anyhow::Result<Outcome> {
        anyhow::bail!("`devices` is not part of this build")
    }
}
