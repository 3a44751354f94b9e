//! `warpsmith occupancy`: blocks and warps per multiprocessor.

use crate::cli::{Context, Outcome, Output};

/// Arguments of `occupancy`.
#[derive(clap::Args, Debug)]
pub struct Occupancy {
    #[command(flatten)]
    output: Output,
}

impl Occupancy {
    /// Runs the command.
    pub fn run(&self, _context: &Context) -> anyhow::Result<Outcome> {
        anyhow::bail!("`occupancy` is not part of this build")
    }
}
