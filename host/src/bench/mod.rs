//! `warpsmith bench`: our kernels against nvcc's, cuBLAS and the driver's own copy, side by side in one run.
//!
//! Both sides of a pair are captured into graphs of several launches over rotating buffers, warmed up together, and
//! replayed in turn. What is published is the ratio of the medians with its 95 % interval, never two runs' times.

mod call;
mod clock;
mod competitor;
mod competitors;
mod graph;
mod measure;
mod pairs;
mod statistics;
mod suite;
mod suites;

use serde::Serialize;
use warpsmith_launch::Device;

pub use clock::pci_bus_id;
pub use measure::Comparison;
pub use pairs::{Enqueue, PairTimes, Plan};
pub use suite::{Part, TensorCases};
pub use suites::SUITES;

use self::competitors::CANDIDATES;
use self::measure::Bench;
use crate::error::Error;
use crate::size::Size;

/// The words of `--against`, and what each means.
pub fn competitors() -> Vec<(&'static str, &'static str)> {
    let mut words: Vec<_> = CANDIDATES.iter().filter_map(|candidate| candidate.word).collect();
    words.dedup();
    words
}

/// All comparisons of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Shape of this JSON.
    pub version: u32,
    pub device: String,
    /// cuBLAS's version, when it was measured against.
    pub cublas: Option<i32>,
    /// Omissions, and why.
    pub left_out: Vec<String>,
    pub results: Vec<Comparison>,
}

/// Runs suites, or some of their kernels, on a device, against the competitors of these words.
pub fn run(
    device: &Device,
    plan: Plan,
    parts: &[Part],
    sizes: &[Size],
    against: &[String],
    cases: &TensorCases,
) -> Result<Report, Error> {
    if device.is_virtual() {
        return Err(Error::NoTime);
    }
    let mut bench = Bench::new(device, plan)?;
    for candidate in CANDIDATES {
        let asked = candidate.word.is_none_or(|(word, _)| against.iter().any(|against| against == word));
        if asked && parts.iter().any(|part| part.suite.tasks().contains(&candidate.does)) {
            bench.admit(candidate)?;
        }
    }
    let mut results = Vec::new();
    for Part { suite, kernels } in parts {
        bench.only.clone_from(kernels);
        results.extend(suite.run(&bench, sizes, cases)?);
    }
    for kernel in parts.iter().flat_map(|part| &part.kernels) {
        if !results.iter().any(|row: &Comparison| measure::is_of(&row.kernel, kernel)) {
            bench.leave_out(format!("{kernel}: no row at these sizes is of it"));
        }
    }
    let cublas = bench.version();
    let left_out = bench.left_out.take();
    Ok(Report { version: 1, device: device.limits().name.clone(), cublas, left_out, results })
}
