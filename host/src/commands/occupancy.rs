//! `warpsmith occupancy`: blocks and warps per multiprocessor.

use std::fmt::Write;

use gpu_model::chips::{self, Chip};
use gpu_model::occupancy::{self, Advice, BlockNeeds, Example, Occupancy as Model};
use gpu_model::{Capability, SmLimits};
use serde::Serialize;

use crate::cli::{Context, Outcome, Output};
use crate::size::Size;
use crate::terminal;

/// Arguments of `occupancy`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Occupancy {
    /// Shape of a block: N, XxY or XxYxZ
    #[arg(long, allow_hyphen_values = true, required_unless_present = "example")]
    block: Option<Size>,

    /// Registers of a thread; left out, registers are unknown and not reckoned with
    #[arg(long, allow_hyphen_values = true, value_parser = clap::value_parser!(u32).range(1..=1024))]
    registers: Option<u32>,

    /// Bytes of dynamic shared memory of a block
    #[arg(long, default_value_t = 0, allow_hyphen_values = true, value_parser = clap::value_parser!(u32).range(0..=1 << 30))]
    shared: u32,

    /// The chip: h200, h100, a100, rtx4090, rtx3060, t4, b200
    #[arg(long, value_parser = parse_chip)]
    model: Option<&'static Chip>,

    /// A chip generation instead of a chip, 1.0 to 12.1
    #[arg(long, conflicts_with = "model")]
    capability: Option<Capability>,

    /// The worked examples of the teaching texts
    #[arg(long, conflicts_with_all = ["block", "registers", "shared", "model", "capability"])]
    example: bool,

    #[command(flatten)]
    output: Output,
}

const EXAMPLES: &str = "\
Examples:
  warpsmith occupancy --block 16x16 --registers 40 --shared 2048
  warpsmith occupancy --block 256 --registers 64 --model rtx4090
  warpsmith occupancy --example";

/// Reads the key of a named chip.
pub(in crate::commands) fn parse_chip(key: &str) -> Result<&'static Chip, String> {
    chips::by_key(key).ok_or_else(|| {
        let keys: Vec<&str> = chips::ALL.iter().map(|chip| chip.key).collect();
        format!("known are {}", keys.join(", "))
    })
}

/// The limits of a generation, or an error that says which are known.
pub(in crate::commands) fn limits_of(capability: Capability) -> anyhow::Result<&'static SmLimits> {
    SmLimits::of(capability).ok_or_else(|| {
        let known: Vec<String> = chips::generations().iter().map(|row| row.capability.to_string()).collect();
        anyhow::anyhow!("no limits are published for capability {capability}; known are {}", known.join(", "))
    })
}

#[derive(Serialize)]
struct Answer {
    capability: Capability,
    limits: &'static SmLimits,
    occupancy: Model,
    advice: Vec<Advice>,
}

#[derive(Serialize)]
struct Examples {
    examples: Vec<Example>,
}

impl Occupancy {
    /// Runs the command.
    pub fn run(&self, _context: &Context) -> anyhow::Result<Outcome> {
        if self.example {
            let examples = Examples { examples: occupancy::examples()? };
            self.output.print(&examples, example_text)?;
            return Ok(Outcome::Well);
        }
        let limits = match self.capability {
            Some(capability) => limits_of(capability)?,
            None => self.model.unwrap_or(&chips::H200).sm,
        };
        let block = self.block.ok_or_else(|| anyhow::anyhow!("say the shape of a block: --block 16x16"))?;
        let needs = BlockNeeds {
            threads: threads(block)?,
            registers_per_thread: self.registers.unwrap_or(0),
            static_shared: 0,
            dynamic_shared: self.shared,
        };
        let found = Model::new(limits, needs)?;
        let advice = found.advice(limits);
        let answer = Answer { capability: limits.capability, limits, occupancy: found, advice };
        self.output.print(&answer, text)?;
        Ok(Outcome::Well)
    }
}

/// Threads of a block, whatever its shape.
fn threads(block: Size) -> anyhow::Result<u32> {
    let product = match block {
        Size::One(x) => Some(x),
        Size::Two(x, y) => x.checked_mul(y),
        Size::Three(x, y, z) => x.checked_mul(y).and_then(|xy| xy.checked_mul(z)),
    };
    product
        .and_then(|threads| u32::try_from(threads).ok())
        .ok_or_else(|| anyhow::anyhow!("a block of {block} threads is larger than any chip admits (1024)"))
}

fn text(answer: &Answer) -> String {
    let paint = report::text::Paint { colour: terminal::colour(&std::io::stdout()) };
    let found = &answer.occupancy;
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{} of {} threads on a multiprocessor of capability {} ({}): {} of {} warps, {:.0} %\n",
        report::text::counted(found.blocks.into(), "block", "blocks"),
        found.needs.threads,
        answer.capability,
        answer.capability.architecture(),
        found.warps,
        answer.limits.warps,
        found.fraction * 100.0
    );
    out.push_str(&report::text::occupancy(found, answer.limits, paint));
    if found.needs.registers_per_thread == 0 {
        out.push_str("\nRegisters are unknown: the true number of blocks may be smaller.\n");
    }
    if found.needs_opt_in {
        let _ = writeln!(
            out,
            "\nMore than {} bytes of shared memory: the kernel must opt in before its launch.",
            answer.limits.shared_per_block
        );
    }
    if answer.advice.is_empty() {
        out.push_str("\nNothing here would let more warps in.\n");
    } else {
        out.push_str("\nWhat would help:\n");
        for advice in &answer.advice {
            let _ = writeln!(out, "  {advice}");
        }
    }
    out
}

fn example_text(examples: &Examples) -> String {
    let mut out = String::new();
    for example in &examples.examples {
        let _ = writeln!(out, "{}", terminal::heading(example.question));
        let _ = writeln!(out, "  {}: {}\n", example.reasoning, example.answer);
    }
    out
}
