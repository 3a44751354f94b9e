//! `warpsmith demo`: runs the demos and prints their tables.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::cli::{Context, Outcome, Output};
use crate::demos::{self, Row, Stage};
use crate::device::Device;
use crate::error::Error;
use crate::size::Size;
use crate::terminal::{self, Progress};

/// Arguments of `demo`.
#[derive(clap::Args, Debug, Default)]
#[command(after_help = EXAMPLES)]
pub struct Demo {
    /// Which demo
    #[arg(value_enum, default_value_t)]
    which: Which,

    /// Problem size: N, MxN or MxNxK
    #[arg(long, allow_hyphen_values = true)]
    size: Option<Size>,

    /// Edge of the tiles in dynamic shared memory (matmul): `auto` or a number
    #[arg(long, value_name = "auto|N", allow_hyphen_values = true, value_parser = parse_edge, default_value = "auto")]
    dynamic_tile: Edge,

    #[command(flatten)]
    output: Output,
}

const EXAMPLES: &str = "\
Examples:
  warpsmith demo                                all of them
  warpsmith demo matmul --size 1000x300x70      any shape
  warpsmith demo matmul --dynamic-tile 24       another edge for the dynamic tiles
  warpsmith demo transpose --device virtual     on the virtual GPU, with its counters
  warpsmith demo banks --json                   {\"results\": [{\"demo\", \"kernel\", \"size\", \"ok\", …}]}";

/// The demos.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Which {
    /// Matrix multiplication: naive, tiled, dynamic shared memory, column order
    Matmul,
    /// Matrix transpose: naive, shared tile, padded, swizzled
    Transpose,
    /// Global memory: alignment, stride, scatter, width, structs
    Coalescing,
    /// Shared memory: strides, widths, broadcast, columns
    Banks,
    /// Where coefficients live: registers, local, shared, global, constant
    Spaces,
    /// Latency and how it is hidden
    Latency,
    /// All of them
    #[default]
    All,
}

/// The edge of dynamic tiles; `None` is for the device to choose.
#[derive(Clone, Copy, Debug, Default)]
struct Edge(Option<u32>);

fn parse_edge(text: &str) -> Result<Edge, String> {
    match text {
        "auto" => Ok(Edge(None)),
        number => number
            .parse()
            .map(|edge| Edge(Some(edge)))
            .map_err(|_| "`auto`, or a whole number such as 16".into()),
    }
}

/// A demo's function.
type Run = fn(&Stage) -> Result<Vec<Row>, Error>;

impl Which {
    /// The demos that this means: name, title, function.
    fn runs(self) -> Vec<(&'static str, &'static str, Run)> {
        let all: [(Self, &str, &str, Run); 6] = [
            (Self::Matmul, "matmul", "Matrix multiplication, f32", demos::matmul::run),
            (Self::Transpose, "transpose", "Transpose, f32, f64 and f16", demos::transpose::run),
            (Self::Coalescing, "coalescing", "Global memory: 32-byte sectors", demos::coalescing::run),
            (Self::Banks, "banks", "Shared memory: 32 banks of 4 bytes", demos::banks::run),
            (Self::Spaces, "spaces", "Where data lives", demos::spaces::run),
            (Self::Latency, "latency", "Latency, and what hides it", demos::latency::run),
        ];
        all.into_iter()
            .filter(|(which, ..)| self == Self::All || self == *which)
            .map(|(_, name, title, run)| (name, title, run))
            .collect()
    }
}

/// The shape of `demo --json`.
#[derive(Debug, Serialize, Deserialize)]
struct Results {
    results: Vec<Row>,
}

impl Demo {
    /// Runs the command.
    pub fn run(&self, context: &Context) -> anyhow::Result<Outcome> {
        let device = Device::open(context.device)?;
        if !self.output.json {
            let limits = device.limits();
            let kind = if device.is_virtual() { "virtual GPU, modelling" } else { "GPU" };
            terminal::print(&format!(
                "Running on the {kind} {} (compute capability {}.{}, {} multiprocessors)\n",
                limits.name, limits.capability.0, limits.capability.1, limits.sms
            ))?;
        }
        let mut all = Results { results: Vec::new() };
        for (name, title, run) in self.which.runs() {
            let progress = Progress::new(name, !self.output.json);
            let stage = Stage {
                device: &device,
                size: self.size,
                dynamic_tile: self.dynamic_tile.0,
                progress: &progress,
            };
            let rows = run(&stage)?;
            drop(progress);
            if !self.output.json {
                let text = if name == "banks" { demos::banks::text(&rows) } else { demos::row::text(&rows) };
                terminal::print(&format!("{}\n{text}", terminal::heading(title)))?;
            }
            all.results.extend(rows);
        }
        if self.output.json {
            terminal::print_json(&all)?;
        }
        let wrong = all.results.iter().filter(|row| !row.ok).count();
        if wrong > 0 {
            anyhow::bail!("{wrong} of {} results are wrong", all.results.len());
        }
        Ok(Outcome::Well)
    }
}
