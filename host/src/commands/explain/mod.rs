//! `warpsmith explain`: draws the arithmetic of the memory system.

mod banks;
mod cache;
mod coalescing;
mod driver_answers;

use clap::Subcommand;

use crate::answer::{Context, Outcome};

/// Arguments of `explain`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Explain {
    #[command(subcommand)]
    topic: Topic,
}

const EXAMPLES: &str = "\
Examples:
  warpsmith explain banks --stride 2
  warpsmith explain coalescing --example scattered
  warpsmith explain cache --json

Each topic takes --json.";

#[derive(Subcommand, Debug)]
enum Topic {
    /// Which lane hits which bank of shared memory, and who waits for whom
    Banks(banks::Banks),
    /// Which pieces of global memory a warp moves, on any chip generation
    Coalescing(coalescing::Coalescing),
    /// How on-chip memory is divided between L1 and shared memory, and who decides
    Cache(cache::Cache),
}

impl Explain {
    /// Runs the command.
    pub fn run(&self, context: &Context) -> anyhow::Result<Outcome> {
        match &self.topic {
            Topic::Banks(topic) => topic.run(),
            Topic::Coalescing(topic) => topic.run(),
            Topic::Cache(topic) => topic.run(context),
        }
    }
}

/// Bytes a lane that one instruction can move.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum LaneBytes {
    /// A byte
    #[value(name = "1")]
    One,
    #[value(name = "2")]
    Two,
    /// One word
    #[value(name = "4")]
    Four,
    /// Two words
    #[value(name = "8")]
    Eight,
    /// Four words
    #[value(name = "16")]
    Sixteen,
}

impl LaneBytes {
    fn count(self) -> u32 {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Four => 4,
            Self::Eight => 8,
            Self::Sixteen => 16,
        }
    }
}

/// Colours of the drawings: only where a person reads.
fn paint() -> report::text::Paint {
    report::text::Paint { colour: crate::terminal::colour(&std::io::stdout()) }
}

/// Refuses a start that no lane of that width may have.
fn check_alignment(base: u32, bytes: u32) -> anyhow::Result<()> {
    anyhow::ensure!(
        base.is_multiple_of(bytes),
        "byte {base} is not a multiple of {bytes}: a lane's access of {bytes} bytes must be aligned to its width, \
         or the launch fails with a misaligned address"
    );
    Ok(())
}
