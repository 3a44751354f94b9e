//! `warpsmith roofline`: operations per byte against the device's limits.

use anyhow::Context as _;
use gpu_model::Chip;
use gpu_model::profile::{Counters, LaunchProfile, Operations};
use gpu_model::roofline::{Arithmetic, Bound, CgmaExample, Roofline as Lines, WorkAndTraffic};
use report::text::Point;
use report::unit::rate;
use serde::Serialize;

use super::occupancy::{CHIP, parse_chip};
use crate::answer::{Context, Outcome, Output};
use crate::size::Size;
use crate::subject::Subject;
use crate::terminal;

/// Arguments of `roofline`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
#[command(group(clap::ArgGroup::new("about").required(true).multiple(true).args(["names", "program", "intensity", "example"])))]
pub struct Roofline {
    #[command(flatten)]
    subject: Subject,

    /// Problem size: N, MxN or MxNxK
    #[arg(long, allow_hyphen_values = true, conflicts_with = "intensity")]
    size: Option<Size>,

    /// Operations per byte of a kernel that you have counted yourself
    #[arg(long, value_parser = intensity, allow_hyphen_values = true, conflicts_with_all = ["names", "program"])]
    intensity: Option<f64>,

    #[arg(long, value_parser = parse_chip, default_value = "h200", help = CHIP.as_str())]
    model: &'static Chip,

    /// The worked example of the teaching texts: 200 GB/s, 1,500 GFLOP/s
    #[arg(long, conflicts_with_all = ["names", "program", "intensity", "model"])]
    example: bool,

    #[command(flatten)]
    output: Output,
}

const EXAMPLES: &str = "\
Examples:
  warpsmith roofline matmul_naive matmul_tiled_16 matmul_tiled_32
  warpsmith roofline tensor_bf16_nt --size 256     under the roof of tensor cores
  warpsmith roofline -- cargo run                  the kernels of a program, or p.json, its profile
  warpsmith roofline --example
  warpsmith roofline --intensity 0.25 --model rtx4090";

fn intensity(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (1e-6..=1e9).contains(&value) => Ok(value),
        _ => {
            Err("operations per byte are a number above 0, from 0.000001 to 1e9, for example 0.25".to_owned())
        }
    }
}

#[derive(Serialize)]
struct KernelAnswer {
    name: String,
    /// Operations per byte that moves, in whole sectors, before any cache.
    intensity: f64,
    /// Operations per 4 bytes that lanes ask for.
    cgma: f64,
    /// Counted operations and bytes; `null` if only the ratio is known.
    work: Option<WorkAndTraffic>,
    /// The class with most of the operations.
    arithmetic: Arithmetic,
    /// The chip's peak of that class.
    roof_flops: f64,
    attainable_flops: f64,
    bound: Bound,
}

#[derive(Serialize)]
struct Answer {
    chip: Option<&'static str>,
    roofline: Lines,
    ridge: f64,
    kernels: Vec<KernelAnswer>,
    example: Option<CgmaExample>,
}

impl Roofline {
    /// Runs the command.
    pub fn run(&self, _context: &Context) -> anyhow::Result<Outcome> {
        let (answer, outcome) = self.answer()?;
        self.output.print(&answer, text)?;
        Ok(outcome)
    }

    /// The kernels found, and the outcome of the program that was run for them.
    fn answer(&self) -> anyhow::Result<(Answer, Outcome)> {
        if self.example {
            let example = CgmaExample::new();
            let kernel = |name: &str, cgma| kernel(name, cgma / 4.0, Arithmetic::F32, &example.roofline);
            let answer = Answer {
                chip: None,
                roofline: example.roofline,
                ridge: example.roofline.ridge(),
                kernels: vec![
                    kernel("naive matmul", example.naive_cgma),
                    kernel("matmul with 16×16 tiles", example.tiled_cgma),
                ],
                example: Some(example),
            };
            return Ok((answer, Outcome::Well));
        }
        let lines = Lines::of(self.model);
        let mut kernels: Vec<_> = self
            .intensity
            .map(|intensity| kernel("the kernel", intensity, Arithmetic::F32, &lines))
            .into_iter()
            .collect();
        let mut outcome = Outcome::Well;
        if self.intensity.is_none() {
            let recording = self.subject.recording(self.size)?;
            let mut without = Vec::new();
            for name in recording.kernels() {
                let launches = recording.of(&name).map(|launch| &launch.profile);
                match counted(&name, launches, self.model) {
                    Ok(kernel) => kernels.push(kernel),
                    Err(reason) => without.push(reason),
                }
            }
            // One kernel that computes nothing is no reason to lose the others.
            match (kernels.is_empty(), without) {
                (true, without) => without.into_iter().next().map_or(Ok(()), Err)?,
                (false, without) => {
                    without.iter().for_each(|reason| eprintln!("warpsmith: left out: {reason}"))
                }
            }
            outcome = recording.outcome;
        }
        let answer = Answer {
            chip: Some(self.model.name),
            roofline: lines,
            ridge: lines.ridge(),
            kernels,
            example: None,
        };
        Ok((answer, outcome))
    }
}

/// A kernel as the virtual GPU counts it, all launches of its demo together.
fn counted<'a>(
    name: &str,
    launches: impl Iterator<Item = &'a LaunchProfile> + Clone,
    chip: &Chip,
) -> anyhow::Result<KernelAnswer> {
    let counted = launches.clone().map(|launch| launch.counters).sum::<Counters>();
    let (read, written) = (counted.global_read(), counted.global_written());
    let operations = launches.map(|launch| launch.operations).sum::<Operations>();
    let work = WorkAndTraffic {
        operations: operations.total() as f64,
        requested_bytes: (read.bytes + written.bytes) as f64,
        moved_bytes: (32 * (read.sectors + written.sectors)) as f64,
    };
    anyhow::ensure!(
        work.operations > 0.0 && work.moved_bytes > 0.0,
        "`{name}` does {} operations on {} bytes of global memory: there is no ratio to draw",
        work.operations,
        work.moved_bytes
    );
    let arithmetic = operations.arithmetic();
    let lines = Lines::for_arithmetic(chip, arithmetic).with_context(|| {
        format!("`{name}` computes in {}, which the {} lacks", arithmetic.name(), chip.name)
    })?;
    Ok(KernelAnswer {
        cgma: work.cgma(),
        work: Some(work),
        ..kernel(name, work.intensity(), arithmetic, &lines)
    })
}

fn kernel(name: &str, intensity: f64, arithmetic: Arithmetic, lines: &Lines) -> KernelAnswer {
    KernelAnswer {
        name: name.to_owned(),
        intensity,
        cgma: intensity * 4.0,
        work: None,
        arithmetic,
        roof_flops: lines.flops,
        attainable_flops: lines.attainable(intensity),
        bound: lines.bound(intensity),
    }
}

fn text(answer: &Answer) -> String {
    let paint = report::text::Paint { colour: terminal::colour(&std::io::stdout()) };
    let mut out = String::new();
    let lines = &answer.roofline;
    let chip = format!("{}: ", answer.chip.unwrap_or("The chip of the texts"));
    let limits = format!(
        "{} of memory, {} of f32 arithmetic",
        rate(lines.bandwidth, "B/s"),
        rate(lines.flops, "FLOP/s")
    );
    out.push_str(&terminal::wrapped(&chip, &limits));
    out.push_str(&terminal::wrapped(
        "",
        &format!("The two lines meet at {:.1} operations per byte", answer.ridge),
    ));
    out.push('\n');
    let marks = 'a'..='z';
    let points: Vec<Point> = answer
        .kernels
        .iter()
        .zip(marks)
        .map(|(kernel, mark)| Point {
            mark,
            name: kernel.name.clone(),
            intensity: kernel.intensity,
            roof: Lines { flops: kernel.roof_flops, ..*lines },
        })
        .collect();
    out.push_str(&report::text::roofline(lines, &points, terminal::width(), paint));
    out.push('\n');
    if let Some(example) = &answer.example {
        let operands = example.operands / 1e9;
        let fed = format!("{} feed {operands} G operands (f32) a second.", rate(lines.bandwidth, "B/s"));
        let naive = format!(
            "Naive matmul does a multiply and an add for two loads: CGMA {}, so at most {}.",
            example.naive_cgma,
            rate(example.naive_attainable, "FLOP/s")
        );
        let tiled = format!(
            "All {} need a CGMA of {}; 16×16 tiles bring {}: at most {}.",
            rate(lines.flops, "FLOP/s"),
            example.needed_cgma,
            example.tiled_cgma,
            rate(example.tiled_attainable, "FLOP/s")
        );
        for sentence in [fed, naive, tiled] {
            out.push_str(&terminal::wrapped("", &sentence));
        }
    } else {
        for kernel in &answer.kernels {
            let by = match kernel.bound {
                Bound::Memory => "memory",
                Bound::Compute => "arithmetic",
            };
            let roof = match kernel.arithmetic {
                Arithmetic::F32 => "the peak".to_owned(),
                other => format!("the {} of {}", rate(kernel.roof_flops, "FLOP/s"), other.name()),
            };
            let sentence = format!(
                "{:.3} operations per 4-byte access (CGMA), bound by {by}, at best {:.1} % of {roof}.",
                kernel.cgma,
                kernel.attainable_flops / kernel.roof_flops * 100.0
            );
            out.push_str(&terminal::wrapped(&format!("{}: ", kernel.name), &sentence));
            if let Some(work) = kernel.work {
                let counts = format!(
                    "{} operations, {} asked for, {} moved in sectors",
                    terminal::grouped(work.operations as u64),
                    report::unit::size(work.requested_bytes as u64),
                    report::unit::size(work.moved_bytes as u64)
                );
                out.push_str(&terminal::wrapped("  counted: ", &counts));
            }
        }
    }
    out
}
