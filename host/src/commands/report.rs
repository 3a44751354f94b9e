//! `warpsmith report`: one HTML page.

use crate::cli::{Context, Outcome, Output};

/// Arguments of `report`.
#[derive(clap::Args, Debug)]
pub struct Report {
    #[command(flatten)]
    output: Output,
}

impl Report {
    /// Runs the command.
    pub fn run(&self, _context: &Context) -> anyhow::Result<Outcome> {
        anyhow::bail!("`report` is not part of this build")
    }
}
