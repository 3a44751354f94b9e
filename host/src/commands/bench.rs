//! `warpsmith bench`: times kernels on a real GPU, each beside what it is compared with.

use anyhow::Context as _;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use warpsmith_kernels::gemm::{Input, Layout, Output};
use warpsmith_launch::Device;

use super::names::OrKernel;
use crate::answer::{Context, Outcome, Output as Form, whole};
use crate::bench::{self, Comparison, Part, Plan, SUITES, TensorCases};
use crate::registry;
use crate::size::Size;
use crate::terminal;

/// Arguments of `bench`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Bench {
    /// Suites to measure, or kernels of `warpsmith list`; everything if nothing is named
    #[arg(value_parser = OrKernel(suite_names))]
    suites: Vec<String>,

    /// N (square matrices; transpose: every step), MxN (transpose: what the dispatcher takes; matmul, tensor: K is the smaller)
    /// or MxNxK (matmul, tensor), separated by commas
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true, value_parser = size)]
    sizes: Vec<Size>,

    /// Whom to compare with, separated by commas; the driver's own copy always
    #[arg(long, value_delimiter = ',', default_value = "nvcc,cublas", value_parser = competitor_names())]
    against: Vec<String>,

    /// Pairs of samples that count
    #[arg(long, default_value_t = 40, allow_hyphen_values = true, value_parser = whole(2, 10_000))]
    samples: u32,

    /// An overview: 16 pairs a row unless --samples says more or less, and shorter warm-ups
    #[arg(long)]
    quick: bool,

    /// tensor: types of A and B, separated by commas
    #[arg(long, value_delimiter = ',', value_parser = one_of(TYPES))]
    types: Vec<Input>,

    /// tensor: how A and B are stored, separated by commas
    #[arg(long, value_delimiter = ',', value_parser = one_of(LAYOUTS))]
    layouts: Vec<Layout>,

    /// tensor: the type of C, for the types that have a choice
    #[arg(long, value_parser = one_of(RESULTS))]
    result: Option<Output>,

    /// tensor: this variant instead of the one that the dispatcher takes
    #[arg(long)]
    variant: Option<String>,

    #[command(flatten)]
    output: Form,
}

const EXAMPLES: &str = "\
Examples:
  warpsmith bench all                            everything, as without a word
  warpsmith bench all --sizes 3000,1000x5000     everything that has a size, at these
  warpsmith bench matmul --sizes 2048,4096       products of two sizes
  warpsmith bench matmul --sizes 5000x3000x7000  a product that is no cube
  warpsmith bench matmul_tiled_16 copy           one kernel of a suite, and a suite
  warpsmith bench transpose --against nvcc       the C++ twins only
  warpsmith bench tensor --types bf16 --layouts nt,nn --variant portable
  warpsmith bench tensor --quick --sizes 2000x3000x1024,5120
  warpsmith bench devices                        products over several GPUs, 16384 and 8192
  warpsmith bench matmul --json > result.json    for a results file

± is half the distance between the quartiles of our times. The speed ratio is the other's median time over ours, from pairs taken in turn in one run: above 1 we are faster.";

/// The word for all suites.
const ALL: &str = "all";

fn suite_names() -> PossibleValuesParser {
    let all = PossibleValue::new(ALL).help("All that follow, as if none is named");
    let suites = SUITES.iter().map(|suite| PossibleValue::new(suite.name()).help(suite.about()));
    PossibleValuesParser::new([all].into_iter().chain(suites))
}

fn competitor_names() -> PossibleValuesParser {
    PossibleValuesParser::new(
        bench::competitors().into_iter().map(|(word, help)| PossibleValue::new(word).help(help)),
    )
}

/// The suites asked for, each once, in the order in which they were named, and of each all or some kernels; everything if
/// nothing was named.
fn wanted(asked: &[String]) -> anyhow::Result<Vec<Part>> {
    let asked = if asked.is_empty() { &[ALL.to_owned()][..] } else { asked };
    let mut wanted: Vec<Part> = Vec::new();
    for word in asked {
        let named: Vec<_> = SUITES
            .iter()
            .filter(|suite| suite.name() == word || word == ALL && suite.is_among_all())
            .collect();
        for &suite in &named {
            match wanted.iter_mut().find(|part| part.suite.name() == suite.name()) {
                Some(part) => part.kernels.clear(),
                None => wanted.push(Part { suite: *suite, kernels: Vec::new() }),
            }
        }
        if !named.is_empty() {
            continue;
        }
        let (family, kernel) = registry::find(word)?;
        let mut suites = SUITES.iter().filter(|suite| suite.family() == family).peekable();
        suites.peek().with_context(|| {
            let names: Vec<&str> = SUITES.iter().map(|suite| suite.name()).collect();
            format!("nothing times `{word}`, a kernel of {family}; there are {}", names.join(", "))
        })?;
        for suite in suites {
            match wanted.iter_mut().find(|part| part.suite.name() == suite.name()) {
                Some(part) if part.kernels.is_empty() => {}
                Some(part) => part.kernels.push(kernel.name),
                None => wanted.push(Part { suite: *suite, kernels: vec![kernel.name] }),
            }
        }
    }
    Ok(wanted)
}

/// A size whose matrices the host can make and check.
fn size(text: &str) -> Result<Size, String> {
    let size: Size = text.parse().map_err(|error: crate::size::SizeError| error.to_string())?;
    let mut extents: [usize; 3] = size.product().into();
    extents.sort_unstable();
    // Of up to 8 bytes each, and four such arrays are in the host's memory.
    const MOST: usize = 1 << 31;
    let elements = extents[1] * extents[2];
    if elements > MOST {
        return Err(format!(
            "a matrix of it has {} elements; {} are the most that are made and checked here, as 46340x46340",
            terminal::grouped(elements as u64),
            terminal::grouped(MOST as u64)
        ));
    }
    Ok(size)
}

const TYPES: &[(&str, Input, &str)] = &[
    ("f16", Input::F16, "binary16"),
    ("bf16", Input::Bf16, "bfloat16"),
    ("tf32", Input::Tf32, "f32, of which the tensor core reads sign, exponent and 10 bits of the fraction"),
    ("s8", Input::S8, "8-bit integers"),
];

const LAYOUTS: &[(&str, Layout, &str)] = &[
    ("nn", Layout::Nn, "A row by row, B row by row"),
    ("nt", Layout::Nt, "A row by row, B column by column: K is contiguous in both"),
    ("tn", Layout::Tn, "A column by column, B row by row"),
    ("tt", Layout::Tt, "A column by column, B column by column"),
];

const RESULTS: &[(&str, Output, &str)] = &[
    ("f16", Output::F16, "binary16"),
    ("bf16", Output::Bf16, "bfloat16"),
    ("f32", Output::F32, "f32"),
    ("s32", Output::S32, "32-bit integers"),
];

/// One of these values, by its name.
fn one_of<T: Copy + Send + Sync + 'static>(
    values: &'static [(&'static str, T, &'static str)],
) -> impl TypedValueParser<Value = T> {
    let names = values.iter().map(|(name, _, help)| PossibleValue::new(*name).help(*help));
    PossibleValuesParser::new(names).try_map(move |text| {
        let value = values.iter().find(|(name, ..)| *name == text).map(|(_, value, _)| *value);
        value.ok_or_else(|| format!("`{text}` is none of them"))
    })
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
        let tensor = TensorCases {
            inputs: self.types.clone(),
            layouts: self.layouts.clone(),
            output: self.result,
            variant: self.variant.clone(),
        };
        let report = bench::run(&device, plan, &wanted(&self.suites)?, &self.sizes, &self.against, &tensor)?;
        self.output.print(&report, tables)?;
        let all_right = report.results.iter().all(|comparison| comparison.ok);
        Ok(if all_right { Outcome::Well } else { Outcome::NotWell })
    }
}

/// A table for each suite, in the order in which they ran.
fn tables(report: &bench::Report) -> String {
    const HEADER: [&str; 12] = [
        "kernel",
        "size",
        "against",
        "ours ms",
        "±",
        "other ms",
        "speed ratio",
        "95 %",
        "rate",
        "of limit",
        "MHz",
        "result",
    ];
    let mut text = format!("{}\n", terminal::heading(&report.device));
    for suite in report.results.chunk_by(|one, next| one.suite == next.suite) {
        let over_devices = suite.iter().any(|comparison| comparison.communicated.is_some());
        let mut header = HEADER.to_vec();
        let mut rows: Vec<Vec<String>> = suite.iter().map(row).collect();
        if over_devices {
            header.extend(["communicated", "of it hidden"]);
            rows.iter_mut().zip(suite).for_each(|(row, comparison)| row.extend(communicated(comparison)));
        }
        let title =
            SUITES.iter().find(|known| known.name() == suite[0].suite).map_or("", |known| known.title());
        text += &format!("\n{}\n", terminal::heading(title));
        text += &format!("{}\n", terminal::table(&header, &rows));
    }
    if report.results.is_empty() {
        text += "nothing was measured\n";
    }
    for reason in &report.left_out {
        text += &format!("left out: {reason}\n");
    }
    text
}

fn row(comparison: &Comparison) -> Vec<String> {
    let (ratio, ours) = (comparison.speed_ratio, &comparison.ours_ms);
    vec![
        comparison.kernel.clone(),
        comparison.size.clone(),
        comparison.against.to_owned(),
        milliseconds(ours.median),
        format!("{:.1} %", 50.0 * (ours.upper_quartile - ours.lower_quartile) / ours.median),
        milliseconds(comparison.other_ms.median),
        format!("{:.3}", ratio.ratio),
        format!("{:.3}-{:.3}", ratio.low, ratio.high),
        format!("{:.0} {}", comparison.rate, comparison.unit),
        comparison.share_of_limit.map_or_else(String::new, |share| format!("{:.0} %", 100.0 * share)),
        comparison.sm_mhz.map_or_else(String::new, |mhz| mhz.to_string()),
        if comparison.ok { terminal::RIGHT } else { terminal::WRONG }.to_owned(),
    ]
}

/// Bytes from device to device, and the hidden share of their time.
fn communicated(comparison: &Comparison) -> [String; 2] {
    [
        comparison.communicated.map_or_else(String::new, report::unit::bytes),
        comparison.hidden.map_or_else(String::new, |hidden| format!("{:.0} %", 100.0 * hidden)),
    ]
}

/// Four digits that count, whether it takes microseconds or seconds.
fn milliseconds(time: f64) -> String {
    let digits = (3 - time.abs().max(1e-6).log10().floor() as i32).clamp(0, 6);
    format!("{time:.*}", digits as usize)
}

#[cfg(test)]
mod tests {
    #[test]
    fn all_is_everything_once() {
        let wanted = |asked: &[&str]| -> Vec<&str> {
            let asked: Vec<String> = asked.iter().map(|&word| word.to_owned()).collect();
            super::wanted(&asked).unwrap().into_iter().map(|part| part.suite.name()).collect()
        };
        let all = ["copy", "transpose", "coalescing", "matmul", "tensor"];
        assert_eq!(wanted(&[]), all);
        assert_eq!(wanted(&["all", "copy"]), all);
        assert_eq!(wanted(&["matmul", "copy", "matmul"]), ["matmul", "copy"]);
        assert_eq!(wanted(&["tensor", "all"])[..2], ["tensor", "copy"]);
    }

    #[test]
    fn a_kernel_means_the_suites_of_its_family_and_of_them_itself() {
        let wanted = |asked: &[&str]| -> Vec<(&str, Vec<&str>)> {
            let asked: Vec<String> = asked.iter().map(|&word| word.to_owned()).collect();
            super::wanted(&asked).unwrap().into_iter().map(|part| (part.suite.name(), part.kernels)).collect()
        };
        assert_eq!(wanted(&["matmul_tiled_16"]), [("matmul", vec!["matmul_tiled_16"])]);
        let kernels = vec!["copy_4_bytes", "copy_strided"];
        assert_eq!(wanted(&kernels), [("copy", kernels.clone()), ("coalescing", kernels.clone())]);
        assert_eq!(wanted(&["matmul_naive", "matmul", "matmul_tiled_16"]), [("matmul", Vec::new())]);
        let refused = super::wanted(&["banks_4_bytes".to_owned()]).err().unwrap().to_string();
        assert!(
            refused.contains("nothing times `banks_4_bytes`, a kernel of banks; there are copy,"),
            "{refused}"
        );
    }
}
