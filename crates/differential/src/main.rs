//! Records results of the random programs, and compares recordings.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Parser;
use differential::complete::{self, CHUNKS, Chunks, FUNCTIONS, Kept};
use differential::{Device, compare, driver::Driver, products, program, record::Record};
use virtual_gpu::Gpu;

/// The virtual GPU against hardware, one instruction form at a time.
#[derive(Parser)]
enum Command {
    /// Runs every program on a driver library's device and writes the results.
    Record {
        #[command(flatten)]
        on: On,
        /// Operands are drawn from it.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Where the results go.
        #[arg(short, long)]
        output: PathBuf,
    },
    /// Writes hashes of functions of one `f32` for all 2^32 inputs: seconds on a GPU, half an hour on the virtual one.
    Complete {
        #[command(flatten)]
        on: On,
        /// Where the hashes go.
        #[arg(short, long)]
        output: PathBuf,
    },
    /// Writes hashes of 10,485,760 results of each instruction of tensor cores.
    Products {
        #[command(flatten)]
        on: On,
        /// Where the hashes go.
        #[arg(short, long)]
        output: PathBuf,
    },
    /// Lists the forms on which the second recording differs from the first.
    Compare {
        /// The reference.
        expected: PathBuf,
        /// The subject.
        got: PathBuf,
        /// Lists every case that differs, not four of a form.
        #[arg(long)]
        all: bool,
    },
    /// Writes every program as a PTX file.
    Generate {
        /// The directory to write to.
        directory: PathBuf,
    },
}

/// The device that runs programs.
#[derive(clap::Args)]
struct On {
    /// The driver library whose device runs them.
    #[arg(long, default_value = "libcuda.so.1")]
    library: String,
    /// The virtual GPU of this process runs them.
    #[arg(long = "virtual", conflicts_with = "library")]
    simulated: bool,
}

impl On {
    fn open(&self) -> anyhow::Result<Box<dyn Device>> {
        Ok(if self.simulated {
            Box::new(Gpu::new(&gpu_model::chips::H200))
        } else {
            Box::new(Driver::open(&self.library)?)
        })
    }
}

fn main() -> anyhow::Result<ExitCode> {
    let programs = program::all();
    match Command::parse() {
        Command::Record { on, seed, output } => {
            let mut device = on.open()?;
            let (record, refused) = differential::record(device.as_mut(), &programs, seed);
            for form in &refused {
                println!("refused: {}: {}", form.form, form.reason);
            }
            let bytes = record.to_bytes()?;
            std::fs::write(&output, &bytes).with_context(|| format!("cannot write {}", output.display()))?;
            println!(
                "{} forms, {} cases, {} bytes",
                record.len(),
                record.len() * differential::THREADS,
                bytes.len()
            );
        }
        Command::Complete { on, output } => {
            let mut device = on.open()?;
            let all = Chunks { stride: 1, count: CHUNKS };
            let mut lines = String::new();
            for function in FUNCTIONS {
                lines += &Kept::of(&complete::hashes(device.as_mut(), function, all)?, complete::SAMPLE)
                    .line(function);
            }
            std::fs::write(&output, lines).with_context(|| format!("cannot write {}", output.display()))?;
        }
        Command::Products { on, output } => {
            let mut device = on.open()?;
            let mut lines = String::new();
            for (name, instruction, operands) in products::all() {
                let all = Chunks { stride: 1, count: products::BLOCKS };
                let hashes = products::hashes(device.as_mut(), &instruction, operands, all);
                lines += &Kept::of(&hashes.with_context(|| name.clone())?, products::SAMPLE).line(&name);
            }
            std::fs::write(&output, lines).with_context(|| format!("cannot write {}", output.display()))?;
        }
        Command::Compare { expected, got, all } => {
            let read = |path: &PathBuf| {
                let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
                Record::from_bytes(&bytes)
            };
            let (expected, got) = (read(&expected)?, read(&got)?);
            if expected.seed != got.seed {
                bail!("recorded from seeds {} and {}", expected.seed, got.seed);
            }
            let report = compare::compare(programs.iter().flat_map(|p| &p.forms), &expected, &got);
            if all {
                println!("{report:#}");
            } else {
                println!("{report}");
            }
            if !report.forms.is_empty() {
                return Ok(ExitCode::FAILURE);
            }
        }
        Command::Generate { directory } => {
            std::fs::create_dir_all(&directory)?;
            for program in &programs {
                std::fs::write(directory.join(format!("{}.ptx", program.name)), program.ptx())?;
            }
            for (i, (_, instruction, operands)) in products::all().into_iter().enumerate() {
                std::fs::write(directory.join(format!("product_{i}.ptx")), instruction.ptx(operands))?;
            }
            let forms: usize = programs.iter().map(|p| p.forms.len()).sum();
            println!("{} programs, {forms} forms, {} cases", programs.len(), forms * differential::THREADS);
        }
    }
    Ok(ExitCode::SUCCESS)
}
