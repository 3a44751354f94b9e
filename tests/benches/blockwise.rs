//! Kernels without `unsafe` beside their twins in raw pointers, timed in turn on a real GPU:
//!
//!     cargo bench -p tests --bench blockwise --features ladder
//!     cargo bench -p tests --bench blockwise -- --json softmax sort > result.json
//!
//! Words choose the kernels whose names contain one of them. Without the feature `ladder` one twin is missing. `--once` times nothing:
//! it runs each kernel once, compiled without optimisation and at the cost table's extents, for Nsight Compute.

#[path = "../blockwise/tests/twins/pairs.rs"]
mod pairs;
#[path = "ready/mod.rs"]
mod ready;

use std::process::ExitCode;

use cust::module::{Module, ModuleJitOption, OptLevel};
use host::bench::{Enqueue, PairTimes, Plan};
use host::modules::LEVELS;
use serde::Serialize;
use warpsmith_launch::{Device, DevicePreference, Level, Levels};

use pairs::{PAIRS, Pair, counted};
use ready::Ready;

static BLOCKWISE: Levels =
    Levels::new(&[Level::new(include_str!(concat!(env!("OUT_DIR"), "/blockwise_75.ptx")))]);

/// Rows are many, and both sides do the same: the clock has settled before the first one that counts.
const PLAN: Plan = Plan { pairs: 30, sample_ms: 2.0, warm_up_ms: 150.0, captured: true, quick: true };

#[derive(Serialize)]
struct Row {
    kernel: &'static str,
    twin: &'static str,
    extent: u32,
    #[serde(flatten)]
    times: PairTimes,
    /// Whether both leave the same bits in memory.
    same: bool,
}

#[derive(Serialize)]
struct Report {
    device: String,
    left_out: Vec<String>,
    rows: Vec<Row>,
}

fn main() -> anyhow::Result<ExitCode> {
    let (options, words): (Vec<_>, Vec<_>) =
        std::env::args().skip(1).partition(|word| word.starts_with("--"));
    let device = Device::open(DevicePreference::Gpu)?;
    if options.iter().any(|option| option == "--once") {
        return once(&device);
    }
    let mut report = Report { device: device.limits().name.clone(), left_out: Vec::new(), rows: Vec::new() };
    let chosen = |pair: &&Pair| words.is_empty() || words.iter().any(|word| pair.safe.contains(&word[..]));
    for pair in PAIRS.iter().filter(chosen) {
        for extent in pair.timed {
            match row(&device, pair, extent) {
                Ok(row) => {
                    eprintln!("{}", line(&row));
                    report.rows.push(row);
                }
                Err(error) => report.left_out.push(format!("{} at {extent}: {error:#}", pair.safe)),
            }
        }
    }
    if options.iter().any(|option| option == "--json") {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        println!(
            "{}\n\n| kernel | twin | extent | ours, ms | twin's, ms | speed ratio | 95 % |",
            report.device
        );
        println!("| --- | --- | ---: | ---: | ---: | ---: | --- |");
        report.rows.iter().for_each(|row| println!("{}", line(row)));
        report.left_out.iter().for_each(|reason| println!("left out: {reason}"));
    }
    Ok(if report.rows.iter().all(|row| row.same) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// As the PTX has them, so that counters can be compared with the virtual GPU's.
fn once(device: &Device) -> anyhow::Result<ExitCode> {
    let ptx = BLOCKWISE.all()[0].ptx();
    let module = Module::from_ptx(ptx, &[ModuleJitOption::OptLevel(OptLevel::O0)])?;
    for (kernel, launch) in counted() {
        Ready::new(module.get_function(kernel)?, launch)?.enqueue(device)?;
        device.synchronize()?;
    }
    Ok(ExitCode::SUCCESS)
}

fn line(Row { kernel, twin, extent, times, same }: &Row) -> String {
    let PairTimes { ours, other, ratio } = times;
    let note = if *same { "" } else { " WRONG: it leaves something else than its twin" };
    format!(
        "| {kernel} | {twin} | {extent} | {:.5} | {:.5} | {:.3} | {:.3} to {:.3} |{note}",
        ours.median, other.median, ratio.ratio, ratio.low, ratio.high
    )
}

fn row(device: &Device, pair: &Pair, extent: u32) -> anyhow::Result<Row> {
    let safe = Ready::new(
        device.module(&BLOCKWISE, pair.safe)?.function(pair.safe)?,
        pair.launch(pair.safe, extent),
    )?;
    // Twins that are nobody else's stand beside the kernels.
    let levels = if pair.raw.starts_with("raw_") { &BLOCKWISE } else { &LEVELS };
    let raw =
        Ready::new(device.module(levels, pair.raw)?.function(pair.raw)?, pair.launch(pair.raw, extent))?;
    // Before the measurement, for some add to what is there.
    for one in [&safe, &raw] {
        one.enqueue(device)?;
    }
    device.synchronize()?;
    let same = safe.left()? == raw.left()?;
    let ours: Enqueue<'_> = Box::new(|_| safe.enqueue(device));
    let times = PLAN.pair(device.stream(), ours, Box::new(|_| raw.enqueue(device)))?;
    Ok(Row { kernel: pair.safe, twin: pair.raw, extent, times, same })
}
