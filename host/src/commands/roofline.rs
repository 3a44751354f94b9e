//! `warpsmith roofline`: operations per byte against the device's limits.

use std::fmt::Write;

use gpu_model::Chip;
use gpu_model::roofline::{Bound, CgmaExample, Roofline as Lines};
use report::text::Point;
use report::unit::rate;
use serde::Serialize;

use super::occupancy::parse_chip;
use crate::cli::{Context, Outcome, Output};
use crate::terminal;

/// Arguments of `roofline`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Roofline {
    /// Operations per byte of a kernel that you have counted yourself
    #[arg(long, required_unless_present = "example", value_parser = intensity)]
    intensity: Option<f64>,

    /// The chip: h200, h100, a100, rtx4090, rtx3060, t4, b200
    #[arg(long, value_parser = parse_chip, default_value = "h200")]
    model: &'static Chip,

    /// The worked example of the teaching texts: 200 GB/s, 1,500 GFLOP/s
    #[arg(long, conflicts_with_all = ["intensity", "model"])]
    example: bool,

    #[command(flatten)]
    output: Output,
}

const EXAMPLES: &str = "\
Examples:
  warpsmith roofline --example
  warpsmith roofline --intensity 0.25 --model rtx4090";

fn intensity(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 => Ok(value),
        _ => Err("operations per byte are a number above 0, for example 0.25".to_owned()),
    }
}

#[derive(Serialize)]
struct KernelAnswer {
    name: String,
    intensity: f64,
    cgma: f64,
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
        self.output.print(&self.answer(), text)?;
        Ok(Outcome::Well)
    }

    fn answer(&self) -> Answer {
        if self.example {
            let example = CgmaExample::new();
            let kernel = |name: &str, cgma: f64| kernel(name, cgma / 4.0, &example.roofline);
            return Answer {
                chip: None,
                roofline: example.roofline,
                ridge: example.roofline.ridge(),
                kernels: vec![
                    kernel("naive matmul", example.naive_cgma),
                    kernel("matmul with 16×16 tiles", example.tiled_cgma),
                ],
                example: Some(example),
            };
        }
        let lines = Lines::of(self.model);
        let kernels = self.intensity.map(|intensity| kernel("the kernel", intensity, &lines));
        Answer {
            chip: Some(self.model.name),
            roofline: lines,
            ridge: lines.ridge(),
            kernels: kernels.into_iter().collect(),
            example: None,
        }
    }
}

fn kernel(name: &str, intensity: f64, lines: &Lines) -> KernelAnswer {
    KernelAnswer {
        name: name.to_owned(),
        intensity,
        cgma: intensity * 4.0,
        attainable_flops: lines.attainable(intensity),
        bound: lines.bound(intensity),
    }
}

fn text(answer: &Answer) -> String {
    let paint = report::text::Paint { colour: terminal::colour(&std::io::stdout()) };
    let mut out = String::new();
    let lines = &answer.roofline;
    let _ = writeln!(
        out,
        "{}: {} of memory, {} of f32 arithmetic\nThe two lines meet at {:.1} operations per byte\n",
        answer.chip.unwrap_or("The chip of the texts"),
        rate(lines.bandwidth, "B/s"),
        rate(lines.flops, "FLOP/s"),
        answer.ridge
    );
    let marks = 'a'..='z';
    let points: Vec<Point> = answer
        .kernels
        .iter()
        .zip(marks)
        .map(|(kernel, mark)| Point { mark, name: kernel.name.clone(), intensity: kernel.intensity })
        .collect();
    out.push_str(&report::text::roofline(lines, &points, paint));
    out.push('\n');
    if let Some(example) = &answer.example {
        let operands = example.operands / 1e9;
        let _ = writeln!(out, "{} feed {operands} G operands (f32) a second.", rate(lines.bandwidth, "B/s"));
        let _ = writeln!(
            out,
            "Naive matmul does a multiply and an add for two loads: CGMA {}, so at most {}.",
            example.naive_cgma,
            rate(example.naive_attainable, "FLOP/s")
        );
        let _ = writeln!(
            out,
            "All {} need a CGMA of {}; 16×16 tiles bring {}: at most {}.",
            rate(lines.flops, "FLOP/s"),
            example.needed_cgma,
            example.tiled_cgma,
            rate(example.tiled_attainable, "FLOP/s")
        );
    } else {
        for kernel in &answer.kernels {
            let by = match kernel.bound {
                Bound::Memory => "memory",
                Bound::Compute => "arithmetic",
            };
            let _ = writeln!(
                out,
                "{}: {:.3} operations per 4-byte access (CGMA), bound by {by}, at best {:.1} % of the peak.",
                kernel.name,
                kernel.cgma,
                kernel.attainable_flops / lines.flops * 100.0
            );
        }
    }
    out
}
