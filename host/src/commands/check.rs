//! `warpsmith check`: memory errors, races, uninitialised reads and barrier mistakes in the demos' kernels.
//!
//! Each family runs in a process of its own, with `WARPSMITH_CHECK` set: a kernel that faults ends its context, and the
//! next one starts afresh.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;

use anyhow::Context as _;
use clap::ValueEnum;
use rayon::prelude::*;
use sanitizer::Checks;
use serde_json::{Value, json};

use super::demo;
use crate::cli::{Context, Outcome, Output, whole};
use crate::demos;
use crate::registry;
use crate::terminal::{self, Progress};

/// Arguments of `check`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Check {
    /// Kernels or families; all of them when left out
    kernels: Vec<String>,

    /// Which tools: memory, race, init, barrier, separated by commas
    #[arg(long, default_value = "all", value_parser = tools)]
    tool: String,

    /// Under how many schedules each kernel runs
    #[arg(long, default_value_t = 1, allow_hyphen_values = true, value_parser = whole(1, 10_000))]
    schedules: u32,

    /// The seed of the first schedule
    #[arg(long, default_value_t = 0, allow_hyphen_values = true, value_parser = seed)]
    seed: u64,

    /// Fail on warnings, too
    #[arg(long, value_enum)]
    deny: Option<Deny>,

    /// The form of the report
    #[arg(long, value_enum, default_value_t, conflicts_with = "json")]
    format: Format,

    #[command(flatten)]
    output: Output,
}

const EXAMPLES: &str = "\
Examples:
  warpsmith check                                       every kernel, every tool
  warpsmith check matmul_tiled_16 --tool race --schedules 10
  warpsmith check transpose --json                      {\"version\", \"checked\", \"findings\": […]}

Kernels run on the virtual GPU, whatever --device says. Exit code: 0 if nothing was found.";

/// What is an error besides errors.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Deny {
    /// Findings that may be harmless, such as a race of equal values
    Warnings,
}

/// The form of the report.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Format {
    /// For a person
    #[default]
    Text,
    /// For programs that read compute-sanitizer's output
    ComputeSanitizer,
}

fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("a seed is a whole number from 0 to {}", u64::MAX))
}

fn tools(text: &str) -> Result<String, String> {
    text.parse::<Checks>().map(|_| text.to_owned()).map_err(|error| error.to_string())
}

/// A family, and the one kernel of it that is meant, if not all are.
type Part = (&'static str, Option<&'static str>);

/// Sizes that are no multiple of a tile, so that edges run too, and small: every access is looked at.
fn sizes(family: &str) -> &'static [Option<&'static str>] {
    match family {
        // One with rows of any length, one with rows of whole vectors: not every kernel takes both.
        "matmul" => &[Some("40x33x50"), Some("40x36x52")],
        "transpose" => &[Some("145x67"), Some("80x144")],
        // Pitches of 16 bytes in every type, so that the fast kernels run, and no whole tile along any extent.
        "tensor" => &[Some("144x272x176")],
        "banks" => &[None],
        _ => &[Some("1000")],
    }
}

/// The exit code after Ctrl-C, as shells have it.
const INTERRUPTED: i32 = 130;

/// The most runs side by side: each has its own virtual GPU and the shadow of its memory.
const SIDE_BY_SIDE: usize = 8;

/// Where runs leave their reports.
struct Reports {
    folder: PathBuf,
    extension: &'static str,
    /// The report of a run in which nothing is found.
    nothing: String,
    begun: AtomicUsize,
}

impl Reports {
    /// A file for one run's report.
    fn file(&self) -> PathBuf {
        let run = self.begun.fetch_add(1, Ordering::Relaxed);
        self.folder.join(format!("report-{run}")).with_extension(self.extension)
    }
}

/// What one run has shown.
struct Run {
    kernels: Vec<String>,
    /// The report, if it is about anything.
    finding: Option<String>,
    failed: bool,
}

/// What the runs of one part have shown.
#[derive(Default)]
struct Shown {
    kernels: BTreeSet<String>,
    report: Option<String>,
    failed: bool,
}

impl Check {
    /// Runs the command.
    pub fn run(&self, _context: &Context) -> anyhow::Result<Outcome> {
        let parts = self.parts()?;
        let folder = tempfile::Builder::new()
            .prefix("warpsmith-check-")
            .tempdir()
            .context("the reports need a folder for temporary files (TMPDIR)")?;
        // Nothing is dropped when a signal ends this process, and the folder would stay behind.
        let left = folder.path().to_owned();
        ctrlc::set_handler(move || {
            let _ = std::fs::remove_dir_all(&left);
            std::process::exit(INTERRUPTED);
        })?;
        self.check(&parts, folder.path())
    }

    /// What is asked for, as families and kernels.
    fn parts(&self) -> anyhow::Result<Vec<Part>> {
        let families = || demos::ALL.iter().map(|(name, ..)| *name).chain(["first"]);
        let mut parts = Vec::new();
        for asked in &self.kernels {
            if asked == "all" {
                parts.extend(families().map(|family| (family, None)));
            } else if let Some(family) = families().find(|family| family == asked) {
                parts.push((family, None));
            } else {
                let (family, kernel) = registry::find(asked)?;
                parts.push((family, Some(kernel.name)));
            }
        }
        if parts.is_empty() {
            parts.extend(families().map(|family| (family, None)));
        }
        let mut asked = BTreeSet::new();
        parts.retain(|&part| asked.insert(part));
        Ok(parts)
    }

    fn check(&self, parts: &[Part], folder: &Path) -> anyhow::Result<Outcome> {
        let (extension, format) = match (self.output.json, self.format) {
            (true, _) => ("json", sanitizer::Format::Json),
            (false, Format::Text) => ("txt", sanitizer::Format::Text),
            (false, Format::ComputeSanitizer) => ("sanitizer", sanitizer::Format::ComputeSanitizer),
        };
        let reports = Reports {
            folder: folder.to_owned(),
            extension,
            nothing: sanitizer::render(&[], format),
            begun: AtomicUsize::new(0),
        };
        let progress = Progress::new("check", !self.output.json);
        // A run under the checks keeps one core busy for most of its time.
        let cores = available_parallelism().map_or(1, |cores| cores.get().min(SIDE_BY_SIDE));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(cores).build()?;
        let shown: Vec<Vec<Shown>> = pool.install(|| {
            parts
                .par_iter()
                .map(|&part| self.with_the_rest(part, &reports, &progress))
                .collect::<Result<_, _>>()
        })?;
        drop(progress);
        let shown: Vec<Shown> = shown.into_iter().flatten().collect();
        let failed = shown.iter().any(|part| part.failed);
        let found: Vec<String> = shown.into_iter().filter_map(|part| part.report).collect();
        self.print(parts, &found)?;
        Ok(if failed { Outcome::NotWell } else { Outcome::Well })
    }

    /// Runs one part and, if it is a family, each of its kernels that did not run with the others: a dispatcher takes some of
    /// its kernels for large sizes only.
    fn with_the_rest(
        &self,
        (family, kernel): Part,
        reports: &Reports,
        progress: &Progress,
    ) -> anyhow::Result<Vec<Shown>> {
        let shown = self.part((family, kernel), reports, progress)?;
        if let Some(kernel) = kernel {
            anyhow::ensure!(!shown.kernels.is_empty(), "no demo launches `{kernel}` on this model");
            return Ok(vec![shown]);
        }
        let of_family = registry::kernels().filter(|(of, _)| *of == family).map(|(_, kernel)| kernel.name);
        let others: Vec<&str> = of_family.filter(|&name| !shown.kernels.contains(name)).collect();
        let others = others.par_iter().map(|&name| self.part((family, Some(name)), reports, progress));
        let others: Vec<Shown> = others.collect::<Result<_, _>>()?;
        Ok(std::iter::once(shown).chain(others).collect())
    }

    /// Runs one part at all its sizes under all schedules, until something is found.
    fn part(&self, (family, kernel): Part, reports: &Reports, progress: &Progress) -> anyhow::Result<Shown> {
        let seeds = (0..self.schedules).map(|schedule| self.seed.wrapping_add(u64::from(schedule)));
        let runs: Vec<_> =
            seeds.flat_map(|seed| sizes(family).iter().map(move |&size| (seed, size))).collect();
        let mut shown = Shown::default();
        // What comes after a finding is run in vain, so no more is begun than runs at once.
        for some in runs.chunks(rayon::current_num_threads()) {
            let some: Vec<Run> = some
                .par_iter()
                .map(|&(seed, size)| {
                    progress.step(&format!("{}, schedule {seed}", kernel.unwrap_or(family)));
                    self.one((family, size), kernel, seed, reports)
                })
                .collect::<Result<_, _>>()?;
            for run in some {
                shown.kernels.extend(run.kernels);
                shown.failed |= run.failed;
                if run.finding.is_some() {
                    // What one run shows, the next would only repeat. A run cut short does not tell what it would have run.
                    shown.report = run.finding;
                    shown.kernels.extend(registry::kernels().map(|(_, kernel)| kernel.name.to_owned()));
                    return Ok(shown);
                }
            }
        }
        Ok(shown)
    }

    /// Runs one family at one size under one schedule.
    fn one(
        &self,
        (family, size): (&str, Option<&str>),
        kernel: Option<&str>,
        seed: u64,
        reports: &Reports,
    ) -> anyhow::Result<Run> {
        let size: Vec<&str> = size.map_or(Vec::new(), |size| vec!["--size", size]);
        let only: Vec<&str> = kernel.map_or(Vec::new(), |kernel| vec!["--only", kernel]);
        let file = reports.file();
        let output = demo::on_the_virtual_gpu(family)?
            .args(size)
            .args(only)
            .env("WARPSMITH_CHECK", format!("{}:{}", self.tool, file.display()))
            .env("WARPSMITH_SEED", seed.to_string())
            .stderr(Stdio::null())
            .output()?;
        anyhow::ensure!(
            output.status.code().is_some(),
            "`demo {family}` was ended from outside ({})",
            output.status
        );
        let kernels = demo::rows(&output).into_iter().map(|row| row.kernel).collect();
        // The report is written also when nothing was found: without one, nothing was looked at.
        let report = std::fs::read_to_string(&file)
            .map_err(|_| anyhow::anyhow!("`demo {family}` ran without the checks; run it to see why"))?;
        std::fs::remove_file(&file)?;
        let well = output.status.success();
        let finding = (report.trim() != reports.nothing.trim()).then_some(report);
        anyhow::ensure!(
            well || finding.is_some(),
            "`demo {family}` fails without a finding; run it to see why"
        );
        let failed = !well || finding.is_some() && self.deny == Some(Deny::Warnings);
        Ok(Run { kernels, finding, failed })
    }

    fn print(&self, parts: &[Part], reports: &[String]) -> anyhow::Result<()> {
        let checked: Vec<&str> = parts.iter().map(|(family, kernel)| kernel.unwrap_or(family)).collect();
        if self.output.json {
            let mut findings = Vec::new();
            for report in reports {
                let document: Value = serde_json::from_str(report)?;
                findings.extend(document["findings"].as_array().cloned().unwrap_or_default());
            }
            return terminal::print_json(&json!({ "version": 1, "checked": checked, "findings": findings }));
        }
        if !reports.is_empty() {
            return terminal::print(&reports.join("\n"));
        }
        if self.format == Format::ComputeSanitizer {
            return terminal::print(sanitizer::render(&[], sanitizer::Format::ComputeSanitizer).trim_end());
        }
        let tools: Checks = self.tool.parse()?;
        let schedules = match self.schedules {
            1 => format!("schedule {}", self.seed),
            several => format!("{several} schedules from {}", self.seed),
        };
        terminal::print(&format!("{}: nothing found ({tools}; {schedules})", checked.join(", ")))
    }
}
