//! `warpsmith demo`: runs the demos and prints their tables.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use clap::builder::{PossibleValue, PossibleValuesParser};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use warpsmith_collectives::Job;
use warpsmith_launch::{Device, DevicePreference};

use super::names::OrKernel;
use crate::answer::{Context, Outcome, Output};
use crate::demos::{self, Demo as _, Row, Stage};
use crate::modules;
use crate::registry;
use crate::size::Size;
use crate::terminal::{self, Progress};

/// Arguments of `demo`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Demo {
    /// A demo, or one kernel of `warpsmith list`
    #[arg(default_value = ALL, value_parser = OrKernel(names))]
    which: String,

    /// Problem size: N, MxN or MxNxK
    #[arg(long, allow_hyphen_values = true)]
    size: Option<Size>,

    /// Edge of the tiles in dynamic shared memory (matmul): `auto` or a number
    #[arg(long, value_name = "auto|N", allow_hyphen_values = true, value_parser = parse_edge, default_value = "auto")]
    dynamic_tile: Edge,

    /// Only this kernel of the demo (for `check`)
    #[arg(long, hide = true, value_parser = known)]
    only: Option<String>,

    #[command(flatten)]
    output: Output,
}

const EXAMPLES: &str = "\
Examples:
  warpsmith demo                                all of them
  warpsmith demo matmul --size 1000x300x70      any shape
  warpsmith demo matmul --dynamic-tile 24       another edge for the dynamic tiles
  warpsmith demo matmul_tiled_16                one kernel of a demo
  warpsmith demo transpose --device virtual     on the virtual GPU, with its counters
  warpsmith demo banks --json                   {\"results\": [{\"demo\", \"kernel\", \"size\", \"ok\", …}]}";

/// The word for all demos.
const ALL: &str = "all";

/// The demos' names, which the command line takes.
fn names() -> PossibleValuesParser {
    let value =
        |demo: &&dyn demos::Demo| PossibleValue::new(demo.name()).help(demo.title()).hide(!demo.is_listed());
    let all = PossibleValue::new(ALL).help("All of them");
    PossibleValuesParser::new(demos::ALL.iter().map(value).chain([all]))
}

fn known(kernel: &str) -> Result<String, String> {
    registry::find(kernel).map(|(_, found)| found.name.to_owned()).map_err(|error| error.to_string())
}

impl Demo {
    /// All demos as they are.
    pub fn all(output: Output) -> Self {
        Self { which: ALL.into(), size: None, dynamic_tile: Edge::default(), only: None, output }
    }
}

/// The edge of dynamic tiles; `None` is for the device to choose.
#[derive(Clone, Copy, Debug, Default)]
struct Edge(Option<u32>);

fn parse_edge(text: &str) -> Result<Edge, String> {
    match text {
        "auto" => Ok(Edge(None)),
        number => number
            .parse()
            .map(|edge| Edge(Some(edge)))
            .map_err(|_| "`auto`, or a whole number such as 16".into()),
    }
}

/// The shape of `demo --json`.
#[derive(Debug, Serialize, Deserialize)]
struct Results {
    results: Vec<Row>,
    /// The kernels that this device cannot run, by the reason.
    #[serde(default)]
    left_out: BTreeMap<String, Vec<String>>,
}

impl Demo {
    /// Runs the command.
    pub fn run(&self, context: &Context) -> anyhow::Result<Outcome> {
        let (which, only) = self.meant();
        anyhow::ensure!(
            self.dynamic_tile.0.is_none() || [ALL, "matmul"].contains(&which),
            "the demo of {which} has no dynamic tiles: --dynamic-tile is for matmul"
        );
        let begun = Instant::now();
        let job = if which == demos::devices::DevicesDemo.name() { Job::from_environment()? } else { None };
        let device = opened(context.device, job.as_ref())?;
        // Of several processes one speaks.
        let speaks = job.is_none_or(|job| job.rank == 0);
        let prints = speaks && !self.output.json;
        if prints {
            terminal::print(&terminal::wrapped("", &whereabouts(&device)))?;
        }
        let selected = |demo: &&dyn demos::Demo| which == demo.name() || which == ALL && demo.is_among_all();
        let selected: Vec<&'static dyn demos::Demo> = demos::ALL.iter().copied().filter(selected).collect();
        let counts = !device.is_virtual() && which != demos::devices::DevicesDemo.name();
        let counted = counts.then(|| OnTheVirtualGpu::start(selected.clone()));
        let mut all = Results { results: Vec::new(), left_out: self.left_out(&device) };
        for demo in selected {
            let progress = Progress::new(demo.name(), prints);
            let stage = Stage {
                // When all demos are asked for, those that take no size of this form keep their own.
                size: self.size.filter(|&size| which != ALL || demo.takes(size)),
                dynamic_tile: self.dynamic_tile.0,
                only,
                ..Stage::new(&device, &progress)
            };
            stage.forecast.set(Some(demo));
            let mut rows = demo.run(&stage)?;
            rows.retain(|row| stage.wants(&row.kernel));
            if let Some(counted) = &counted {
                progress.step("counters, on the virtual GPU");
                counted.fill(demo.name(), &mut rows);
            }
            drop(progress);
            if prints {
                let title = match demos::row::common_size(&rows) {
                    Some(size) => format!("{} (size {size})", demo.title()),
                    None => demo.title().to_owned(),
                };
                let text = match rows.is_empty() {
                    true => "No kernel of this demo runs on this device.\n".to_owned(),
                    false => demo.text(&rows),
                };
                let heading = terminal::wrapped("", &terminal::heading(&title));
                terminal::print(&format!("\n{heading}{text}"))?;
            }
            all.results.extend(rows);
        }
        if self.output.json && speaks {
            terminal::print_json(&all)?;
        } else if prints {
            for (reason, kernels) in &all.left_out {
                let sentence = format!("{reason}: {}", kernels.join(", "));
                terminal::print(&format!("\n{}", terminal::wrapped("Left out: ", &sentence)))?;
            }
        }
        let wrong = all.results.iter().filter(|row| !row.ok).count();
        if wrong > 0 {
            anyhow::bail!("{wrong} of {} results are wrong", all.results.len());
        }
        if which == ALL && prints {
            terminal::print(&format!("\n{}", ending(all.results.len(), begun.elapsed())))?;
        }
        Ok(Outcome::Well)
    }

    /// The kernels of the demos asked for that the device cannot run, by the reason.
    /// The demo, and the one kernel of it, if one is named.
    fn meant(&self) -> (&str, Option<&str>) {
        let is_demo = |which: &str| which == ALL || demos::find(which).is_some();
        match registry::find(&self.which) {
            Ok((family, kernel)) if !is_demo(&self.which) => (family, Some(kernel.name)),
            _ => (&self.which, self.only.as_deref()),
        }
    }

    fn left_out(&self, device: &Device) -> BTreeMap<String, Vec<String>> {
        let mut left_out = BTreeMap::new();
        for (reason, kernels) in modules::left_out(device.limits()) {
            let asked = kernels.into_iter().filter(|name| {
                let of =
                    registry::kernels().find(|(_, kernel)| kernel.name == *name).map(|(family, _)| family);
                let (which, only) = self.meant();
                only.is_none_or(|only| only == *name) && (which == ALL || of == Some(which))
            });
            let names: Vec<String> = asked.map(str::to_owned).collect();
            if !names.is_empty() {
                left_out.insert(reason, names);
            }
        }
        left_out
    }
}

/// The device that the demos run on: the first, or in a job of several processes that of the process.
fn opened(preference: DevicePreference, job: Option<&Job>) -> Result<Device, warpsmith_launch::Error> {
    match job {
        None => Device::open(preference),
        Some(job) => {
            let devices = Device::count(preference)?.max(1);
            Device::open_at(preference, job.local_rank as u32 % devices)
        }
    }
}

/// The same demos at their small default sizes on the virtual GPU, for the counters that a real one does not give.
///
/// They run in processes of their own, for a process has one device, while this one works. Counters are an extra here: where
/// such a process fails, rows go without.
struct OnTheVirtualGpu {
    rows: Receiver<Vec<Row>>,
}

impl OnTheVirtualGpu {
    /// Starts with the demos, one after the other.
    fn start(demos: Vec<&'static dyn demos::Demo>) -> Self {
        let (sender, rows) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            // The receiver is gone if the demos ended in an error.
            demos.into_iter().try_for_each(|demo| sender.send(Self::demo(demo.name(), &[])))
        });
        Self { rows }
    }

    /// Gives the rows of a demo their counters. Demos are asked for in the order in which they were started.
    fn fill(&self, demo: &str, rows: &mut [Row]) {
        take_counters(rows, &self.rows.recv().unwrap_or_default());
        // A dispatcher takes another kernel for a small size than for a large one.
        let without = rows.iter().filter(|row| row.counters.is_none()).map(|row| row.kernel.as_str());
        let without: BTreeSet<&str> = without.collect();
        let counted = without.into_par_iter().flat_map_iter(|kernel| Self::demo(demo, &["--only", kernel]));
        let counted: Vec<Row> = counted.collect();
        take_counters(rows, &counted);
    }

    fn demo(name: &str, more: &[&str]) -> Vec<Row> {
        let Ok(mut demo) = on_the_virtual_gpu(name) else { return Vec::new() };
        let output = demo.args(more).env_remove("WARPSMITH_PROFILE").output();
        output.map_or_else(|_| Vec::new(), |output| rows(&output))
    }
}

/// This program, about to run a demo on the virtual GPU in a process of its own.
pub(super) fn on_the_virtual_gpu(demo: &str) -> std::io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["demo", demo, "--device", "virtual", "--json"]);
    Ok(command)
}

/// The rows that such a process printed: none if it failed before its first.
pub(super) fn rows(output: &std::process::Output) -> Vec<Row> {
    serde_json::from_slice::<Results>(&output.stdout).map_or_else(|_| Vec::new(), |results| results.results)
}

/// The last line of all demos, if no row is wrong.
fn ending(rows: usize, time: Duration) -> String {
    format!("All {rows} rows are right, in {:.1} s.", time.as_secs_f64())
}

/// The demos' device, in one line.
fn whereabouts(device: &Device) -> String {
    let limits = device.limits();
    let (name, kind) = match limits.name.strip_suffix(" (virtual)") {
        // An NVIDIA H200, a Tesla T4.
        Some(name) if name.starts_with('N') => (name, "virtual GPU, which stands for an "),
        Some(name) => (name, "virtual GPU, which stands for a "),
        None => (limits.name.as_str(), ""),
    };
    format!(
        "Running on the {kind}{name} (capability {}.{}, {} multiprocessors)",
        limits.capability.0, limits.capability.1, limits.sms
    )
}

/// Gives rows without counters those of the same kernel and case.
fn take_counters(rows: &mut [Row], from: &[Row]) {
    for row in rows.iter_mut().filter(|row| row.counters.is_none()) {
        if let Some(other) = from.iter().find(|other| other.kernel == row.kernel && other.case == row.case) {
            row.counters = other.counters;
            row.memory_instructions = other.memory_instructions;
            row.counters_size.clone_from(&other.counters_size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_says_how_many_rows_are_right_and_in_what_time() {
        assert_eq!(ending(62, Duration::from_millis(8_440)), "All 62 rows are right, in 8.4 s.");
    }
}
