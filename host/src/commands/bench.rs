//! `warpsmith bench`: times kernels on a real GPU, each beside what it is compared with.

use crate::bench::{self, Against, Comparison, Plan, Suite, TensorCases};
use crate::cli::{Context, Outcome, Output as Form, whole};
use crate::device::Device;
use crate::size::Size;
use crate::tensor::{Input, Layout, Output};
use crate::terminal;

/// Arguments of `bench`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Bench {
    /// What to measure: all if none is named
    #[arg(value_enum)]
    suites: Vec<Suite>,

    /// Edges of square matrices (transpose, matmul, tensor), MxN (transpose: what the dispatcher takes), or MxNxK (matmul,
    /// tensor), separated by commas
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true, value_parser = size)]
    sizes: Vec<Size>,

    /// Whom to compare with, separated by commas; the driver's own copy always
    #[arg(long, value_enum, value_delimiter = ',', default_value = "nvcc,cublas")]
    against: Vec<Against>,

    /// Pairs of samples that count
    #[arg(long, default_value_t = 40, allow_hyphen_values = true, value_parser = whole(2, 10_000))]
    samples: u32,

    /// An overview: 16 pairs a row unless --samples says more or less, and shorter warm-ups
    #[arg(long)]
    quick: bool,

    /// tensor: types of A and B, separated by commas
    #[arg(long, value_enum, value_delimiter = ',')]
    types: Vec<Input>,

    /// tensor: how A and B are stored, separated by commas
    #[arg(long, value_enum, value_delimiter = ',')]
    layouts: Vec<Layout>,

    /// tensor: the type of C, for the types that have a choice
    #[arg(long, value_enum)]
    result: Option<Output>,

    /// tensor: this variant instead of the one that the dispatcher takes
    #[arg(long)]
    variant: Option<String>,

    #[command(flatten)]
    output: Form,
}

const EXAMPLES: &str = "\
Examples:
  warpsmith bench                                everything
  warpsmith bench matmul --sizes 2048,4096       products of two sizes
  warpsmith bench matmul --sizes 5000x3000x7000  a product that is no cube
  warpsmith bench transpose --against nvcc       the C++ twins only
  warpsmith bench tensor --types bf16 --layouts nt,nn --variant portable
  warpsmith bench tensor --quick --sizes 2000x3000x1024,5120
  warpsmith bench matmul --json > result.json    for a results file

The speed ratio is the other's median time over ours, from pairs taken in turn in one run: above 1 we are faster.";

/// A size whose matrices a card can hold.
fn size(text: &str) -> Result<Size, String> {
    let size: Size = text.parse().map_err(|error: crate::size::SizeError| error.to_string())?;
    let (m, n, k) = size.product();
    const MOST: usize = 32_768;
    if m.max(n).max(k) > MOST { Err(format!("every extent is at most {MOST} here")) } else { Ok(size) }
}

impl Bench {
    /// Runs the command.
    pub fn run(&self, context: &Context) -> anyhow::Result<Outcome> {
        let device = Device::open(context.device)?;
        let plan = match self.quick {
            true if self.samples == 40 => Plan::quick(),
            true => Plan { pairs: self.samples as usize, ..Plan::quick() },
            false => Plan { pairs: self.samples as usize, ..Plan::default() },
        };
        let suites = if self.suites.is_empty() { &Suite::ALL[..] } else { &self.suites };
        let tensor = TensorCases {
            inputs: self.types.clone(),
            layouts: self.layouts.clone(),
            output: self.result,
            variant: self.variant.clone(),
        };
        let report = bench::run(&device, plan, suites, &self.sizes, &self.against, tensor)?;
        self.output.print(&report, |report| {
            let rows: Vec<Vec<String>> = report.results.iter().map(row).collect();
            let header = [
                "kernel",
                "size",
                "against",
                "ours ms",
                "other ms",
                "speed ratio",
                "95 %",
                "rate",
                "of limit",
                "result",
            ];
            let mut text =
                format!("{}\n{}\n", terminal::heading(&report.device), terminal::table(&header, &rows));
            for reason in &report.left_out {
                text += &format!("left out: {reason}\n");
            }
            text
        })?;
        let all_right = report.results.iter().all(|comparison| comparison.ok);
        Ok(if all_right { Outcome::Well } else { Outcome::NotWell })
    }
}

fn row(comparison: &Comparison) -> Vec<String> {
    let ratio = comparison.speed_ratio;
    vec![
        comparison.kernel.clone(),
        comparison.size.clone(),
        comparison.against.to_owned(),
        format!("{:.4}", comparison.ours_ms.median),
        format!("{:.4}", comparison.other_ms.median),
        format!("{:.3}", ratio.ratio),
        format!("{:.3}-{:.3}", ratio.low, ratio.high),
        format!("{:.0} {}", comparison.rate, comparison.unit),
        comparison.share_of_limit.map_or_else(String::new, |share| format!("{:.0} %", 100.0 * share)),
        if comparison.ok { terminal::RIGHT } else { terminal::WRONG }.to_owned(),
    ]
}
