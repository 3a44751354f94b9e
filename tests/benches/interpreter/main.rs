//! How much faster the virtual GPU is compiled than interpreted: all kernels of the demos and all without `unsafe`, in turn.
//!
//!     cargo bench -p tests --bench interpreter
//!     cargo bench -p tests --bench interpreter -- transpose scan
//!
//! Words choose the kernels whose names contain one of them. Each form is a process that stays. Launches are timed from the
//! second on, a pair at a time, in an order that turns. A ratio is that of medians, with the quartiles of the pairs' own ratios.

mod contender;
mod launches;
#[path = "../../blockwise/tests/twins/pairs.rs"]
mod pairs;
#[path = "../ready/mod.rs"]
mod ready;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, ensure};
use host::modules::LEVELS;
use host::registry;
use warpsmith_launch::{Level, Levels};

static BLOCKWISE: Levels =
    Levels::new(&[Level::new(include_str!(concat!(env!("OUT_DIR"), "/blockwise_75.ptx")))]);

/// How long a kernel is measured, and how many pairs of launches that are.
const NANOSECONDS: f64 = 2e8;
const PAIRS: std::ops::RangeInclusive<usize> = 3..=15;

/// Ends of the classes that ratios are counted by.
const CLASSES: [f64; 3] = [2.0, 4.0, 8.0];

fn main() -> anyhow::Result<()> {
    let (options, words): (Vec<_>, Vec<_>) =
        std::env::args().skip(1).partition(|word| word.starts_with("--"));
    let chosen = |kernel: &str| words.is_empty() || words.iter().any(|word| kernel.contains(&word[..]));
    if options.iter().any(|option| option == "--serve") {
        return contender::serve(&chosen);
    }
    let mut forms = [Running::start("interpreted", &words)?, Running::start("compiled", &words)?];
    println!(
        "{:>36} {:>10} {:>14} {:>12} {:>7}  quartiles",
        "kernel", "statements", "interpreted, ms", "compiled, ms", "ratio"
    );
    let mut ratios: Vec<(String, f64)> = Vec::new();
    while let Some(kernel) = forms[0].line()? {
        ensure!(forms[1].line()?.as_deref() == Some(&kernel), "the forms differ at {kernel}");
        let times = measure(&mut forms)?;
        let mut of_pairs: Vec<f64> = times[0].iter().zip(&times[1]).map(|(slow, fast)| slow / fast).collect();
        of_pairs.sort_by(f64::total_cmp);
        let quartile = |part: usize| of_pairs[(of_pairs.len() - 1) * part / 4];
        let [interpreted, compiled] = times.map(median);
        let (ratio, low, high) = (interpreted / compiled, quartile(1), quartile(3));
        let statements = statements(&kernel);
        println!(
            "{kernel:>36} {statements:>10} {:>14.3} {:>12.3} {ratio:>7.2}  {low:.2} to {high:.2}",
            interpreted / 1e6,
            compiled / 1e6
        );
        ratios.push((kernel, ratio));
    }
    let listed = registry::kernels().map(|(_, kernel)| kernel.name).filter(|kernel| chosen(kernel));
    let untimed = listed.filter(|kernel| ratios.iter().all(|(timed, _)| timed != kernel));
    println!("not timed: {}", untimed.collect::<Vec<_>>().join(", "));
    let all: Vec<f64> = ratios.into_iter().map(|(_, ratio)| ratio).collect();
    let below = |end: f64| all.iter().filter(|&&ratio| ratio < end).count();
    let [two, four, eight] = CLASSES.map(below);
    println!(
        "{} kernels: {two} below 2, {} to 4, {} to 8, {} above",
        all.len(),
        four - two,
        eight - four,
        all.len() - eight
    );
    println!("median {:.2}", median(all));
    Ok(())
}

/// Nanoseconds of the launches of each form.
fn measure(forms: &mut [Running; 2]) -> anyhow::Result<[Vec<f64>; 2]> {
    let first = [forms[0].launch()?, forms[1].launch()?];
    let pairs = ((NANOSECONDS / (first[0] + first[1])) as usize).clamp(*PAIRS.start(), *PAIRS.end());
    let mut times = [Vec::new(), Vec::new()];
    for pair in 0..pairs {
        for which in [pair % 2, 1 - pair % 2] {
            times[which].push(forms[which].launch()?);
        }
    }
    for form in forms {
        writeln!(form.questions, "next")?;
    }
    Ok(times)
}

/// A form's process.
struct Running {
    process: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Running {
    fn start(execution: &str, words: &[String]) -> anyhow::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .arg("--serve")
            .args(words)
            .env("WARPSMITH_DEVICE", "virtual")
            .env("WARPSMITH_EXECUTION", execution);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let questions = process.stdin.take().context("its input")?;
        let answers = BufReader::new(process.stdout.take().context("its output")?);
        Ok(Self { process, questions, answers })
    }

    /// Its next line; none if it has ended well.
    fn line(&mut self) -> anyhow::Result<Option<String>> {
        let mut line = String::new();
        if self.answers.read_line(&mut line)? > 0 {
            return Ok(Some(line.trim().to_owned()));
        }
        let status = self.process.wait()?;
        ensure!(status.success(), "a form ended with {status}");
        Ok(None)
    }

    /// Nanoseconds of a launch.
    fn launch(&mut self) -> anyhow::Result<f64> {
        writeln!(self.questions, "again")?;
        Ok(self.line()?.context("it has ended")?.parse()?)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended, unless this one fails.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Statements of a kernel's PTX, which are about its operations.
fn statements(kernel: &str) -> usize {
    let Some(level) = LEVELS.of(kernel).or_else(|| BLOCKWISE.of(kernel)) else { return 0 };
    let alone = level.alone(kernel);
    let entry = alone.split(".entry").nth(1).unwrap_or_default();
    let body = entry.split("\n.func").next().unwrap_or_default();
    let is_statement = |line: &&str| line.ends_with(';') && !line.starts_with('.');
    body.lines().map(str::trim).filter(is_statement).count()
}
