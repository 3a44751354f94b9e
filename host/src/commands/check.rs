//! `warpsmith check`: memory errors, races, uninitialised reads and barrier mistakes in the demos' kernels.
//!
//! Each family runs in a process of its own, with `WARPSMITH_CHECK` set: a kernel that faults ends its context, and the
//! next one starts afresh.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;

use rayon::prelude::*;
use sanitizer::{Finding, worded};
use serde::Serialize;

use super::demo;
use crate::answer::{Context, Outcome, Output};
use crate::checking::{self, Report, Search};
use crate::demos;
use crate::program;
use crate::registry;
use crate::terminal::Progress;

/// Arguments of `check`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Check {
    /// Kernels or families; all of them when left out
    kernels: Vec<String>,

    #[command(flatten)]
    search: Search,

    /// Check this program instead, and its arguments, after `--`
    #[arg(last = true, value_name = "PROGRAM", conflicts_with = "kernels")]
    program: Vec<OsString>,

    #[command(flatten)]
    output: Output,
}

const EXAMPLES: &str = "\
Examples:
  warpsmith check                                       every kernel, every tool
  warpsmith check matmul_tiled_16 --tool race --schedules 10
  warpsmith check -- cargo test                         any program, with its own kernels
  warpsmith check --format sarif > check.sarif          for a code host
  warpsmith check transpose --json                      {\"version\", \"checked\", \"findings\": […]}

Kernels run on the virtual GPU, whatever --device says. Exit code: 0 if nothing was found.";

/// A family, and the one kernel of it that is meant, if not all are.
type Part = (&'static str, Option<&'static str>);

/// Sizes that are not a multiple of a tile, so that edges run too, and small: every access is looked at.
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

/// The most runs side by side: each has its own virtual GPU and the shadow of its memory.
const SIDE_BY_SIDE: usize = 8;

/// The shape of `check --json`.
#[derive(Debug, Serialize)]
struct Answer {
    version: u32,
    checked: Vec<&'static str>,
    #[serde(serialize_with = "worded")]
    findings: Vec<Finding>,
}

/// How runs are started, and where they leave their reports.
struct Runs {
    /// The process that runs a family.
    start: fn(&str) -> io::Result<Command>,
    folder: PathBuf,
    begun: AtomicUsize,
}

impl Runs {
    /// A file for one run's report.
    fn file(&self) -> PathBuf {
        let run = self.begun.fetch_add(1, Ordering::Relaxed);
        self.folder.join(format!("report-{run}.json"))
    }
}

/// Findings of one run.
struct Run {
    kernels: Vec<String>,
    findings: Vec<Finding>,
    failed: bool,
}

/// Findings of the runs of one part.
#[derive(Default)]
struct Shown {
    kernels: BTreeSet<String>,
    findings: Vec<Finding>,
    failed: bool,
}

impl Check {
    /// Runs the command.
    pub fn run(&self, _context: &Context) -> anyhow::Result<Outcome> {
        if !self.program.is_empty() {
            return checking::program(&self.program, &self.search, self.output);
        }
        let parts = self.parts()?;
        let folder = program::folder("check")?;
        let (outcome, answer) = self.check(&parts, folder.path(), demo::on_the_virtual_gpu)?;
        self.output.print(&answer, |answer| self.text(answer))?;
        Ok(outcome)
    }

    /// The request, as families and kernels.
    fn parts(&self) -> anyhow::Result<Vec<Part>> {
        // A demo without kernels of its own launches those of others.
        let has_kernels = |name: &&str| registry::FAMILIES.iter().any(|(family, _)| family == name);
        let families = || demos::ALL.iter().map(|demo| demo.name()).filter(has_kernels);
        let mut parts = Vec::new();
        for asked in &self.kernels {
            if asked == "all" {
                parts.extend(families().map(|family| (family, None)));
            } else if let Some(family) = families().find(|family| family == asked) {
                parts.push((family, None));
            } else {
                let (family, kernel) = registry::find(asked).map_err(|_| {
                    let families: Vec<&str> = families().collect();
                    let meant = registry::meant(asked, &families);
                    anyhow::anyhow!(
                        "there is no kernel or family `{asked}`;{meant} `warpsmith list` has them all"
                    )
                })?;
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

    /// Runs all parts. What is found comes in the order of the parts, whichever ends first.
    fn check(
        &self,
        parts: &[Part],
        folder: &Path,
        start: fn(&str) -> io::Result<Command>,
    ) -> anyhow::Result<(Outcome, Answer)> {
        let runs = Runs { start, folder: folder.to_owned(), begun: AtomicUsize::new(0) };
        let progress = Progress::new("check", !self.output.json);
        // A run under the checks keeps one core busy for most of its time.
        let cores = available_parallelism().map_or(1, |cores| cores.get().min(SIDE_BY_SIDE));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(cores).build()?;
        let done = AtomicUsize::new(0);
        let one = |&part: &Part| {
            let shown = self.with_the_rest(part, &runs, &progress);
            // Without a name it takes minutes.
            if self.kernels.is_empty() {
                let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                progress.milestone(&format!("{} was checked, {done} of {}", part.0, parts.len()));
            }
            shown
        };
        let shown: Vec<anyhow::Result<Vec<Shown>>> = pool.install(|| parts.par_iter().map(one).collect());
        drop(progress);
        // Of several errors it is always the first part's that is told.
        let shown: Vec<Vec<Shown>> = shown.into_iter().collect::<Result<_, _>>()?;
        let shown: Vec<Shown> = shown.into_iter().flatten().collect();
        let failed = shown.iter().any(|part| part.failed);
        let answer = Answer {
            version: 1,
            checked: parts.iter().map(|(family, kernel)| kernel.unwrap_or(family)).collect(),
            findings: shown.into_iter().flat_map(|part| part.findings).collect(),
        };
        Ok((if failed { Outcome::NotWell } else { Outcome::Well }, answer))
    }

    /// Runs one part and, if it is a family, each of its kernels that did not run with the others: a dispatcher takes some of
    /// its kernels for large sizes only.
    fn with_the_rest(
        &self,
        (family, kernel): Part,
        runs: &Runs,
        progress: &Progress,
    ) -> anyhow::Result<Vec<Shown>> {
        let shown = self.part((family, kernel), runs, progress)?;
        if let Some(kernel) = kernel {
            anyhow::ensure!(!shown.kernels.is_empty(), "no demo launches `{kernel}` on this model");
            return Ok(vec![shown]);
        }
        let of_family = registry::kernels().filter(|(of, _)| *of == family).map(|(_, kernel)| kernel.name);
        let others: Vec<&str> = of_family.filter(|&name| !shown.kernels.contains(name)).collect();
        let others = others.par_iter().map(|&name| self.part((family, Some(name)), runs, progress));
        let others: Vec<anyhow::Result<Shown>> = others.collect();
        let others: Vec<Shown> = others.into_iter().collect::<Result<_, _>>()?;
        Ok(std::iter::once(shown).chain(others).collect())
    }

    /// Runs one part at all its sizes under all schedules, until something is found.
    fn part(&self, (family, kernel): Part, runs: &Runs, progress: &Progress) -> anyhow::Result<Shown> {
        let schedules = self.search.schedules();
        let all: Vec<_> =
            schedules.flat_map(|seed| sizes(family).iter().map(move |&size| (seed, size))).collect();
        let mut shown = Shown::default();
        // A run that follows a finding is in vain, so no more runs are started than can go on at once.
        for some in all.chunks(rayon::current_num_threads()) {
            let some: Vec<anyhow::Result<Run>> = some
                .par_iter()
                .map(|&(seed, size)| {
                    progress.step(&format!("{}, schedule {seed}", kernel.unwrap_or(family)));
                    self.one((family, size), kernel, seed, runs)
                })
                .collect();
            for run in some {
                let run = run?;
                shown.kernels.extend(run.kernels);
                shown.failed |= run.failed;
                if !run.findings.is_empty() {
                    // The next run would only repeat what this one has shown. A run cut short does not say what else it
                    // would have run.
                    shown.findings = run.findings;
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
        runs: &Runs,
    ) -> anyhow::Result<Run> {
        let size: Vec<&str> = size.map_or(Vec::new(), |size| vec!["--size", size]);
        let only: Vec<&str> = kernel.map_or(Vec::new(), |kernel| vec!["--only", kernel]);
        let file = runs.file();
        let mut command = (runs.start)(family)?;
        self.search.watch(&mut command, seed, &file);
        let output = command.args(size).args(only).stderr(Stdio::null()).output()?;
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
        let Report { findings } = serde_json::from_str(&report)?;
        let well = output.status.success();
        anyhow::ensure!(
            well || !findings.is_empty(),
            "`demo {family}` fails without a finding; run it to see why"
        );
        let failed = !well || self.search.denies(&findings);
        Ok(Run { kernels, findings, failed })
    }

    /// The answer in the form that was asked for.
    fn text(&self, answer: &Answer) -> String {
        self.search.render(&answer.findings, || {
            format!("{}: nothing found ({})", answer.checked.join(", "), self.search)
        })
    }
}

#[cfg(all(test, unix))]
mod tests {
    use clap::Parser as _;
    use sanitizer::Conflict;

    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        check: Check,
    }

    /// Stands in for a run: takes its time, leaves the report of its family, and fails as a run with errors does.
    const RUN: &str = r#"sleep "$AFTER"; printf %s "$REPORT" > "${WARPSMITH_CHECK#*:}"; exit "$CODE""#;

    /// `transpose` comes to its error long after `banks`, `first` has none, `coalescing` has a warning, and `spaces` and
    /// `latency` fail for another reason.
    fn run(family: &str) -> io::Result<Command> {
        let (after, how, code) = match family {
            "transpose" => ("0.3", Some(Conflict::Unordered), "1"),
            "banks" => ("0", Some(Conflict::Unordered), "1"),
            "coalescing" => ("0", Some(Conflict::Equal), "0"),
            "spaces" => ("0.3", None, "1"),
            "latency" => ("0", None, "1"),
            _ => ("0", None, "0"),
        };
        let finding = how
            .map(|how| Finding { kernel: family.to_owned(), ..Finding::new(sanitizer::Kind::Race { how }) });
        let mut run = Command::new("sh");
        run.args(["-c", RUN, "sh"]).env("AFTER", after).env("CODE", code);
        run.env("REPORT", sanitizer::render(finding.as_slice(), sanitizer::Format::Json));
        Ok(run)
    }

    /// `warpsmith check ARGUMENTS`, with those runs: the outcome, the kernels found in their order, and what is printed.
    fn check(arguments: &str) -> anyhow::Result<(Outcome, Vec<String>, String)> {
        let Line { check } = Line::try_parse_from(["check"].into_iter().chain(arguments.split(' ')))?;
        let folder = tempfile::tempdir()?;
        let (outcome, answer) = check.check(&check.parts()?, folder.path(), run)?;
        assert_eq!(std::fs::read_dir(folder.path())?.count(), 0, "reports are left behind");
        let kernels = answer.findings.iter().map(|finding| finding.kernel.clone()).collect();
        Ok((outcome, kernels, check.text(&answer)))
    }

    #[test]
    fn findings_come_in_the_order_of_the_parts_whichever_ends_first() {
        for (arguments, order) in [
            ("transpose first banks", ["transpose", "banks"]),
            ("banks first transpose", ["banks", "transpose"]),
            ("--tool race --schedules 3 transpose_naive banks", ["transpose", "banks"]),
        ] {
            let (outcome, kernels, text) = check(arguments).unwrap();
            assert_eq!(outcome, Outcome::NotWell, "{arguments}");
            assert_eq!(kernels, order, "{arguments}");
            let place = |kernel: &str| text.find(&format!("in kernel `{kernel}`")).unwrap();
            assert!(place(order[0]) < place(order[1]), "{text}");
            assert_eq!(text.matches("2 errors, 0 warnings, 0 notes").count(), 1, "{text}");
        }
    }

    #[test]
    fn findings_of_several_parts_have_one_summary() {
        let (_, _, text) = check("--format compute-sanitizer transpose banks").unwrap();
        assert_eq!(text.matches("COMPUTE-SANITIZER").count(), 1, "{text}");
        assert!(text.ends_with("========= ERROR SUMMARY: 2 errors\n"), "{text}");
        let (outcome, _, text) = check("--format compute-sanitizer first").unwrap();
        assert_eq!(
            (outcome, text.as_str()),
            (Outcome::Well, "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n")
        );
        let (outcome, _, text) = check("--tool race,init first").unwrap();
        assert_eq!(
            (outcome, text.as_str()),
            (Outcome::Well, "first: nothing found (race, init; schedule 0)")
        );
    }

    #[test]
    fn a_warning_fails_only_if_that_was_asked_for() {
        for (arguments, expected) in
            [("coalescing first", Outcome::Well), ("--deny warnings coalescing first", Outcome::NotWell)]
        {
            let (outcome, kernels, text) = check(arguments).unwrap();
            assert_eq!((outcome, kernels), (expected, vec!["coalescing".to_owned()]), "{arguments}");
            assert!(text.contains("0 errors, 1 warning, 0 notes"), "{text}");
        }
    }

    #[test]
    fn of_several_runs_that_fail_the_first_part_s_is_told() {
        for (arguments, family) in [("banks spaces latency", "spaces"), ("banks latency spaces", "latency")] {
            let said = check(arguments).unwrap_err().to_string();
            assert_eq!(said, format!("`demo {family}` fails without a finding; run it to see why"));
        }
    }
}
