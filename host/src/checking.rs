//! The common part of `check` and `run --check`: tools, schedules, and the report.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::str::FromStr as _;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::ValueEnum;
use sanitizer::{Checks, Finding, SCHEDULES, Severity, worded};
use serde::{Deserialize, Serialize};

use crate::answer::{Outcome, Output, whole};
use crate::input::Input;
use crate::program::{Program, folder, left};
use crate::terminal::{self, Progress};

/// The checks and the form of their report.
#[derive(clap::Args, Debug, Clone, PartialEq)]
pub struct Search {
    /// Which tools: memory, race, init, barrier, api, separated by commas
    #[arg(long, default_value = "all", allow_hyphen_values = true, value_parser = Checks::from_str)]
    tool: Checks,

    /// Under how many schedules each kernel runs: 8 for a program and 1 for the demos, if nothing is said
    #[arg(long, allow_hyphen_values = true, value_parser = whole(1, 10_000))]
    schedules: Option<u32>,

    /// The first schedule: 0 is the plain order, others are seeds of random ones
    #[arg(long, default_value_t = 0, allow_hyphen_values = true, value_parser = seed)]
    seed: u64,

    /// Fail on warnings, too
    #[arg(long, value_enum)]
    deny: Option<Deny>,

    /// The form of the report
    #[arg(long, value_enum, default_value_t, conflicts_with = "json")]
    format: Format,
}

/// Severities that count as errors.
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
    /// For code hosts, which show findings beside the line (SARIF 2.1.0)
    Sarif,
}

fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("a seed is a whole number from 0 to {}", u64::MAX))
}

/// The file of a checked process.
#[derive(Deserialize)]
pub struct Report {
    pub findings: Vec<Finding>,
}

impl Search {
    /// Whether only the defaults were asked for.
    pub fn is_default(&self) -> bool {
        *self == Search { tool: Checks::ALL, schedules: None, seed: 0, deny: None, format: Format::default() }
    }

    /// The same for a program, which runs under more schedules than a demo.
    fn of_program(&self) -> Self {
        Search { schedules: self.schedules.or(Some(SCHEDULES)), ..self.clone() }
    }

    fn count(&self) -> u32 {
        self.schedules.unwrap_or(1)
    }

    /// The seeds of the schedules, 0 for the plain order.
    pub fn schedules(&self) -> impl Iterator<Item = u64> + use<> {
        let first = self.seed;
        (0..self.count()).map(move |schedule| first.wrapping_add(u64::from(schedule)))
    }

    /// Makes a program run under the checks and one of the schedules, and write its report to a file whose name ends in
    /// `.json`.
    pub fn watch(&self, command: &mut Command, schedule: u64, report: &Path) {
        command
            .env("WARPSMITH_CHECK", format!("{}:{}", self.tool, report.display()))
            .env("WARPSMITH_SEED", schedule.to_string());
    }

    /// Whether what a program's processes found fails the command, also if the last of them ended well.
    fn fails(&self, findings: &[Finding]) -> bool {
        self.denies(findings) || findings.iter().any(|finding| finding.severity() == Severity::Error)
    }

    /// Whether findings that are not errors fail the command, too.
    pub fn denies(&self, findings: &[Finding]) -> bool {
        self.deny == Some(Deny::Warnings)
            && findings.iter().any(|finding| finding.severity() >= Severity::Warning)
    }

    /// The report. Where nothing was found, a person reads `nothing`.
    pub fn render(&self, findings: &[Finding], nothing: impl FnOnce() -> String) -> String {
        match self.format {
            Format::Text if findings.is_empty() => nothing(),
            Format::Text => sanitizer::render(findings, sanitizer::Format::Text),
            Format::ComputeSanitizer => sanitizer::render(findings, sanitizer::Format::ComputeSanitizer),
            Format::Sarif => sanitizer::render(findings, sanitizer::Format::Sarif),
        }
    }
}

/// The tools and the schedules.
impl fmt::Display for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count() {
            1 => write!(f, "{}; schedule {}", self.tool, self.seed),
            several => write!(f, "{}; {several} schedules from {}", self.tool, self.seed),
        }
    }
}

/// The shape of `check --json` for a program.
#[derive(Debug, Serialize)]
struct Answer {
    version: u32,
    checked: [String; 1],
    /// The program's exit code; `null` if a signal ended it.
    exit_code: Option<i32>,
    /// How many of its processes called CUDA.
    processes: usize,
    #[serde(serialize_with = "worded")]
    findings: Vec<Finding>,
}

/// Runs a program under the checks, once for each schedule, and tells what was found in all of its processes.
///
/// Each run reads the same standard input. What it prints is its own in the first run and lost in the others. It goes to standard
/// error where standard output has the report for another program.
pub fn program(program: &[OsString], search: &Search, output: Output) -> anyhow::Result<Outcome> {
    let (program, search) = (Program::new(program)?, &search.of_program());
    let folder = folder("check")?;
    let for_programs = output.json || search.format != Format::Text;
    let answer = watched(&program, search, for_programs, folder.path())?;
    if answer.processes == 0 {
        eprintln!("warpsmith: nothing was checked: {}", program.no_call());
    }
    if output.json {
        terminal::print_json(&answer)?;
    } else {
        let report = search.render(&answer.findings, || format!("warpsmith: nothing found ({search})"));
        if for_programs {
            terminal::print(&report)?;
        } else if answer.processes > 0 {
            eprintln!("{}", report.trim_end());
        }
    }
    match answer.exit_code {
        Some(0) if search.fails(&answer.findings) => Ok(Outcome::NotWell),
        Some(0) => Ok(Outcome::Well),
        Some(code) => Ok(Outcome::Ended(code)),
        None => Ok(Outcome::NotWell),
    }
}

/// Runs the program under all schedules. Each process leaves its report in the folder.
fn watched(
    program: &Program<'_>,
    search: &Search,
    for_programs: bool,
    folder: &Path,
) -> anyhow::Result<Answer> {
    let named = program.name();
    let mut answer = Answer {
        version: 1,
        checked: [named.clone()],
        exit_code: Some(0),
        processes: 0,
        findings: Vec::new(),
    };
    let progress = Progress::new("check", search.count() > 1);
    let input = (search.count() > 1).then(Input::of_this_process).unwrap_or_default();
    let begun = Instant::now();
    for (run, schedule) in search.schedules().enumerate() {
        if search.count() > 1 {
            let rest = rest(begun.elapsed(), run as u32, search.count());
            progress.step(&format!("schedule {schedule}, {} of {}{rest}", run + 1, search.count()));
            if run == 1 {
                progress.milestone(&format!(
                    "schedule {} is done, {} more follow{rest}",
                    search.seed,
                    search.count() - 1
                ));
            }
        }
        let mut command = program.command();
        search.watch(&mut command, schedule, &folder.join(format!("{run}-{{pid}}-{{n}}.json")));
        if run > 0 {
            command.stdout(Stdio::null()).stderr(Stdio::null());
        } else if for_programs {
            command.stdout(std::io::stderr());
        }
        let mut child =
            input.give(&mut command, run).spawn().with_context(|| format!("cannot run `{named}`"))?;
        input.feed(child.stdin.take());
        let status = child.wait()?;
        let reports = reports(folder, run)?;
        let found = reports.iter().any(|report| !report.findings.is_empty());
        anyhow::ensure!(status.code().is_some() || found, "`{named}` was ended by a signal ({status})");
        if run == 0 {
            answer.processes = reports.len();
        }
        for finding in reports.into_iter().flat_map(|report| report.findings) {
            sanitizer::add(&mut answer.findings, finding);
        }
        if answer.exit_code == Some(0) {
            answer.exit_code = status.code();
        }
    }
    Ok(answer)
}

/// How long the schedules still to come will take, by those that are done.
fn rest(spent: Duration, done: u32, of: u32) -> String {
    match spent.checked_div(done) {
        Some(each) => format!(", about {:.0} s", (each * (of - done)).as_secs_f64().max(1.0)),
        None => String::new(),
    }
}

/// Reports of the processes of one run, in the order of their numbers.
fn reports(folder: &Path, run: usize) -> anyhow::Result<Vec<Report>> {
    let begins = format!("{run}-");
    let of_run = |file: &PathBuf| {
        file.file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with(&begins))
    };
    let files = left(folder, "json")?.into_iter().filter(of_run);
    files.map(|file| Ok(serde_json::from_str(&std::fs::read_to_string(file)?)?)).collect()
}

#[cfg(all(test, unix))]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        search: Search,

        #[command(flatten)]
        _output: Output,
    }

    /// Two processes that find the same under each schedule, one of them more under the second, as the driver would write it.
    const SCRIPT: &str = r#"
        report=${WARPSMITH_CHECK#*:}
        finding() { printf '{"kind":{"name":"race","how":"%s"},"kernel":"%s","object":null,"sites":[],"count":2}' "$1" "$1"; }
        printf '{"version":1,"findings":[%s]}' "$(finding equal)" > "${report%-*}-1.json"
        if [ "$WARPSMITH_SEED" = 6 ]; then more=$(finding unordered); fi
        printf '{"version":1,"findings":[%s]}' "$more" > "${report%-*}-2.json"
        if [ "$WARPSMITH_SEED" = 6 ]; then exit 1; fi
    "#;

    fn run(options: &str, script: &str) -> (Search, anyhow::Result<Answer>) {
        let words = ["check"].into_iter().chain(options.split_whitespace());
        let Line { search, .. } = Line::try_parse_from(words).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let program = ["sh", "-c", script].map(OsString::from);
        let program = Program::within(&program, Vec::new()).unwrap();
        let answer = watched(&program, &search, true, folder.path());
        (search, answer)
    }

    #[test]
    fn all_processes_under_all_schedules_are_told_once() {
        let (search, answer) = run("--schedules 3 --seed 5", SCRIPT);
        let answer = answer.unwrap();
        let found: Vec<_> = answer.findings.iter().map(|f| (f.severity(), f.count)).collect();
        assert_eq!(found, [(Severity::Warning, 6), (Severity::Error, 2)]);
        assert_eq!((answer.processes, answer.exit_code), (2, Some(1)));
        assert_eq!(search.to_string(), "memory, race, init, barrier, api; 3 schedules from 5");
    }

    #[test]
    fn a_program_runs_under_more_than_the_plain_schedule() {
        let of_program = |options| run(options, SCRIPT).0.of_program();
        assert_eq!(
            of_program("").schedules().collect::<Vec<_>>(),
            (0..u64::from(SCHEDULES)).collect::<Vec<_>>()
        );
        assert_eq!(of_program("--schedules 1 --seed 7").schedules().collect::<Vec<_>>(), [7]);
        assert!(run("", SCRIPT).0.is_default(), "a demo runs under the plain one");
    }

    #[test]
    fn warnings_are_denied_where_that_was_asked_for() {
        for (options, denied) in [("", false), ("--deny warnings", true)] {
            let (search, answer) = run(options, SCRIPT);
            let answer = answer.unwrap();
            assert_eq!((answer.exit_code, search.fails(&answer.findings)), (Some(0), denied));
        }
    }

    #[test]
    fn an_error_that_the_program_makes_nothing_of_fails_it() {
        let (search, answer) = run("--schedules 1 --seed 6", &format!("trap 'exit 0' EXIT; {SCRIPT}"));
        let answer = answer.unwrap();
        assert_eq!((answer.exit_code, search.fails(&answer.findings)), (Some(0), true));
    }

    #[test]
    fn the_time_to_come_is_that_of_the_schedules_done() {
        assert_eq!(rest(Duration::ZERO, 0, 8), "");
        assert_eq!(rest(Duration::from_secs(4), 2, 8), ", about 12 s");
        assert_eq!(rest(Duration::from_millis(20), 1, 2), ", about 1 s");
    }

    #[test]
    fn a_program_without_a_report_was_not_checked() {
        let (_, answer) = run("", "exit 0");
        assert_eq!(answer.unwrap().processes, 0);
        let (_, answer) = run("", "kill -9 $$");
        assert!(answer.unwrap_err().to_string().contains("was ended by a signal"));
    }
}
