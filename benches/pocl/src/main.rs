//! The virtual GPU beside PoCL on this machine's processor: ten kernels, their launches in turn.
//!
//! `cargo run --release -p beside_pocl`
//!
//! Each contender is a process that stays: PoCL, the virtual GPU compiled without and with its counters, and the
//! interpreter. A round asks each of them for one launch of a kernel, in an order that turns from round to round. What is
//! printed is the ratio of medians, with the quartiles of the rounds' own ratios. Results must agree.

mod contender;
mod opencl;
mod program;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use cuda_builder::{CudaBuilder, NvvmArch};

use crate::program::{Element, Program, Source, all};

#[derive(Parser)]
#[command(about = "Times the virtual GPU beside PoCL on this processor")]
struct Arguments {
    /// How often each contender launches each kernel.
    #[arg(long, default_value_t = 15)]
    rounds: usize,
    /// Only kernels whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    #[arg(long, hide = true)]
    serve: Option<PathBuf>,
    #[arg(long, hide = true)]
    pocl: bool,
}

/// Name and environment of each contender; the first is the one that the others are compared with.
const CONTENDERS: [(&str, &[(&str, &str)]); 4] = [
    ("PoCL", &[]),
    ("compiled", &[("WARPSMITH_EXECUTION", "compiled")]),
    ("with counters", &[("WARPSMITH_EXECUTION", "compiled"), ("WARPSMITH_PROFILE", "/dev/null")]),
    ("interpreted", &[("WARPSMITH_EXECUTION", "interpreted")]),
];

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if let Some(folder) = &arguments.serve {
        return contender::serve(arguments.pocl, folder);
    }
    ensure!(arguments.rounds > 0, "--rounds must be at least 1");
    let programs = all();
    let chosen: Vec<usize> =
        (0..programs.len()).filter(|&i| programs[i].name.contains(&arguments.only)).collect();
    ensure!(!chosen.is_empty(), "no kernel's name contains `{}`", arguments.only);
    let folder = tempfile::tempdir()?;
    compile(folder.path())?;

    let mut contenders = Vec::new();
    for (name, environment) in CONTENDERS {
        match Running::start(name, environment, folder.path()) {
            Err(why) if name == "PoCL" => {
                println!("skipped: PoCL ({why:#}); Debian has it as pocl-opencl-icd");
                contenders.push(None);
            }
            started => contenders.push(Some(started?)),
        }
    }

    println!("{:28} {:>12}  ratio to compiled, quartiles of the rounds", "", "compiled, ms");
    let mut logarithms = Vec::new();
    for number in chosen {
        let times = measure(&mut contenders, number, arguments.rounds)?;
        compare(&contenders, folder.path(), number, &programs[number])?;
        let compiled = median(&times[1]);
        print!("{:28} {:12.3}", programs[number].name, compiled / 1e6);
        for ((name, _), of) in
            CONTENDERS.iter().zip(&times).filter(|((name, _), of)| *name != "compiled" && !of.is_empty())
        {
            let mut ratios: Vec<f64> = of.iter().zip(&times[1]).map(|(other, own)| other / own).collect();
            ratios.sort_by(f64::total_cmp);
            let quartile = |part: usize| ratios[(ratios.len() - 1) * part / 4];
            print!("  {name} {:.2} ({:.2} to {:.2})", median(of) / compiled, quartile(1), quartile(3));
        }
        if let Some(operations) = programs[number].operations {
            print!("  {:.1} GFLOP/s", operations / compiled);
        }
        println!();
        if !times[0].is_empty() {
            logarithms.push([&times[1], &times[2]].map(|of| (median(&times[0]) / median(of)).ln()));
        }
    }
    if !logarithms.is_empty() {
        let mean = |which: usize| {
            (logarithms.iter().map(|of| of[which]).sum::<f64>() / logarithms.len() as f64).exp()
        };
        println!("geometric mean of PoCL over ours: {:.2}, with counters {:.2}", mean(0), mean(1));
    }
    Ok(())
}

/// Compiles the kernels into the folder.
fn compile(folder: &Path) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for source in Source::ALL {
        let mut builder = CudaBuilder::new(root.join(source.folder())).arch(NvvmArch::Compute75);
        if source == Source::Kernels {
            builder = builder.build_args(&["--no-default-features", "--features", "base"]);
        }
        let built = builder.build().with_context(|| format!("compile {}", source.folder()))?;
        std::fs::copy(built, folder.join(source.ptx()))?;
    }
    Ok(())
}

/// A contender's process.
struct Running {
    name: &'static str,
    process: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Running {
    fn start(name: &'static str, environment: &[(&str, &str)], folder: &Path) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("--serve").arg(folder).args((name == "PoCL").then_some("--pocl"));
        command.env("WARPSMITH_DEVICE", "virtual").envs(environment.iter().copied());
        let mut process =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let questions = process.stdin.take().context("its input")?;
        let answers = BufReader::new(process.stdout.take().context("its output")?);
        let mut running = Self { name, process, questions, answers };
        ensure!(running.answer()? == "ready", "{name} does not start");
        Ok(running)
    }

    fn answer(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            let mut said = String::new();
            if let Some(stderr) = &mut self.process.stderr {
                std::io::Read::read_to_string(stderr, &mut said)?;
            }
            bail!("{}", said.trim().trim_start_matches("Error: "));
        }
        Ok(line.trim().to_owned())
    }

    /// Nanoseconds of a launch.
    fn launch(&mut self, number: usize) -> Result<f64> {
        writeln!(self.questions, "{number}")?;
        Ok(self.answer()?.parse()?)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It ends by itself at the end of its input; one that does not is ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Times of each contender by round; none of one that is missing.
fn measure(contenders: &mut [Option<Running>], number: usize, rounds: usize) -> Result<Vec<Vec<f64>>> {
    let mut times = vec![Vec::new(); contenders.len()];
    let count = contenders.len();
    // The first round warms up.
    for round in 0..=rounds {
        for turn in 0..count {
            let which = (round + turn) % count;
            if let Some(contender) = &mut contenders[which] {
                let time = contender.launch(number)?;
                if round > 0 {
                    times[which].push(time);
                }
            }
        }
    }
    Ok(times)
}

/// Whether all have left the same, but for roundings.
fn compare(contenders: &[Option<Running>], folder: &Path, number: usize, program: &Program) -> Result<()> {
    let left = |running: &Running| -> Result<Vec<f64>> {
        let bytes = std::fs::read(folder.join(format!("{}.{number}", running.process.id())))?;
        let words = bytes.chunks_exact(4).map(|word| [word[0], word[1], word[2], word[3]]);
        Ok(match program.result.1 {
            Element::F32 => words.map(|word| f32::from_le_bytes(word).into()).collect(),
            Element::U32 => words.map(|word| u32::from_le_bytes(word).into()).collect(),
        })
    };
    let mut all = contenders.iter().flatten();
    let first = all.next().context("no contender")?;
    let expected = left(first)?;
    for other in all {
        for (place, (own, expected)) in left(other)?.into_iter().zip(&expected).enumerate() {
            let agree = (own - expected).abs() <= 1e-5 * expected.abs().max(1e-6);
            ensure!(
                agree,
                "{}: at {place}, {} has {own} and {} has {expected}",
                program.name,
                other.name,
                first.name
            );
        }
    }
    Ok(())
}

fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}
