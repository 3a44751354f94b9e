//! `warpsmith report`: one HTML page with counters, maps, roofline and occupancy.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use gpu_model::occupancy::{BlockNeeds, Occupancy};
use gpu_model::profile::{InstructionCounts, LaunchProfile, Rates};
use gpu_model::{Chip, chips};
use report::html::{Kernel, Page, SourceLine};
use serde::Serialize;
use warpsmith_launch::{Device, DevicePreference};

use crate::answer::{Context, Outcome, Output};
use crate::demos::{self, Stage};
use crate::profiling;
use crate::registry;
use crate::resources::{self, Resources};
use crate::size::Size;
use crate::source;
use crate::subject::{Recording, Subject};
use crate::terminal::{self, Progress};

/// Arguments of `report`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Report {
    #[command(flatten)]
    subject: Subject,

    /// Problem size: N, MxN or MxNxK
    #[arg(long, allow_hyphen_values = true, requires = "names")]
    size: Option<Size>,

    /// The page to write; `-` is standard output
    #[arg(long, value_name = "FILE")]
    html: PathBuf,

    #[command(flatten)]
    output: Output,
}

const EXAMPLES: &str = "\
Examples:
  warpsmith report --html report.html
  warpsmith report matmul_tiled_16 --size 256 --html one.html
  warpsmith report --html mine.html -- cargo run      the kernels of a program, or p.json, its profile

Without a name, all demos run on the virtual GPU at their small sizes, whatever --device says. Where a kernel is launched several \
times, the page shows the launch that costs most. The page is one file, and needs no network.";

/// Source lines shown around each line with counters.
const AROUND: u32 = 2;

/// The shape of `report --json`.
#[derive(Serialize)]
struct Answer {
    file: PathBuf,
    bytes: usize,
    kernels: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    launch: LaunchProfile,
    size: String,
    operations: Option<f64>,
    operations_per_byte: Option<f64>,
    occupancy: Option<Occupancy>,
    occupancy_unknown: Option<String>,
}

impl Report {
    /// Runs the command.
    pub fn run(&self, _context: &Context) -> anyhow::Result<Outcome> {
        self.check_folder()?;
        let (chip, kernels, outcome) = if self.subject.is_empty() {
            let device = Device::open(DevicePreference::Virtual)?;
            let chip = match warpsmith_cuda::taken()? {
                warpsmith_cuda::Taken::Virtual(chips) => chips[0],
                warpsmith_cuda::Taken::Gpu(_) => &chips::H200,
            };
            (chip, gather(&device, chip, !self.output.json)?, Outcome::Well)
        } else {
            let recording = self.subject.recording(self.size)?;
            let chip = chips::by_key(&recording.model).unwrap_or(&chips::H200);
            (chip, recorded(&recording, chip), recording.outcome)
        };
        let page = Page { chip, command: self.command(), kernels };
        let html = page.render();
        if self.is_piped() {
            anyhow::ensure!(!self.output.json, "`-` and --json both write to standard output");
            terminal::print(&html)?;
            return Ok(outcome);
        }
        std::fs::write(&self.html, &html).with_context(|| format!("cannot write {}", self.html.display()))?;
        let rows = page.kernels.into_iter().map(|kernel| Row {
            operations: kernel.operations,
            operations_per_byte: kernel.intensity(),
            size: kernel.size,
            occupancy_unknown: kernel.occupancy.as_ref().err().cloned(),
            occupancy: kernel.occupancy.ok(),
            launch: kernel.launch,
        });
        let answer = Answer { file: self.html.clone(), bytes: html.len(), kernels: rows.collect() };
        self.output.print(&answer, |answer| {
            let kernels = report::text::counted(answer.kernels.len() as u64, "kernel", "kernels");
            format!(
                "{}: {kernels}, {} KiB, open it in any browser",
                answer.file.display(),
                answer.bytes / 1024
            )
        })?;
        Ok(outcome)
    }

    /// Whether the page goes to standard output.
    fn is_piped(&self) -> bool {
        self.html == Path::new("-")
    }

    /// The command that writes the page again.
    fn command(&self) -> String {
        let mut words = vec!["warpsmith report".to_owned()];
        words.extend(self.subject.names.iter().cloned());
        words.extend(self.size.map(|size| format!("--size {size}")));
        words.push("--html FILE".to_owned());
        if !self.subject.program.is_empty() {
            words.push("--".to_owned());
            words.extend(self.subject.program.iter().map(|word| word.display().to_string()));
        }
        words.join(" ")
    }

    /// Says what is wrong with the file's place before the demos run, not after.
    fn check_folder(&self) -> anyhow::Result<()> {
        if self.is_piped() {
            return Ok(());
        }
        let file = self.html.display();
        anyhow::ensure!(!self.html.is_dir(), "{file} is a folder; name a file in it");
        let folder = match self.html.parent() {
            Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
            Some(folder) => folder,
            None => Path::new("."),
        };
        anyhow::ensure!(folder.is_dir(), "{file} cannot be written: there is no folder {}", folder.display());
        Ok(())
    }
}

/// Runs all demos and describes each kernel by its most wasteful launch.
fn gather(device: &Device, chip: &Chip, visible: bool) -> anyhow::Result<Vec<Kernel>> {
    let mut kernels = Vec::new();
    let families: BTreeSet<&str> = registry::FAMILIES.iter().map(|(family, _)| *family).collect();
    for family in demos::ALL.iter().map(|demo| demo.name()).filter(|name| families.contains(name)) {
        let progress = Progress::new(family, visible);
        let stage = Stage::new(device, &progress);
        let rows = profiling::run_family(family, &stage)?;
        let mut launches: BTreeMap<String, Vec<LaunchProfile>> = BTreeMap::new();
        for launch in stage.profiles.take() {
            launches.entry(launch.kernel.clone()).or_default().push(launch);
        }
        let descriptions =
            || registry::kernels().filter(|(name, _)| *name == family).map(|(_, kernel)| kernel);
        let launched: Vec<_> = descriptions().filter(|kernel| launches.contains_key(kernel.name)).collect();
        resources::ask_about(&launched, chip.capability());
        for description in descriptions() {
            let Some(launches) = launches.remove(description.name) else { continue };
            let times = launches.len();
            let whole = launches.iter().map(LaunchProfile::work).sum();
            let Some(launch) = most_expensive(launches, chip) else { continue };
            // Launches of a dispatcher beside the kernel that its row names have no row of their own.
            let own = rows.iter().find(|row| row.kernel == description.name).map(|row| row.size.as_str());
            let size = own.or(demos::row::common_size(&rows)).unwrap_or_default();
            let size = if times > 1 { format!("{size}, {}", of_several(times)) } else { size.to_owned() };
            let resources = Resources::of(device, description, chip.capability())?;
            let kernel = kernel_of(chip, &resources, launch, whole, size);
            kernels.push(Kernel { family: Some(family.to_owned()), ..kernel });
        }
    }
    Ok(kernels)
}

/// The launch that costs most.
fn most_expensive(launches: Vec<LaunchProfile>, chip: &Chip) -> Option<LaunchProfile> {
    let rates = Rates::of(chip);
    let clocks = |launch: &LaunchProfile| launch.work().cost(&rates).clocks;
    launches.into_iter().max_by(|a, b| clocks(a).total_cmp(&clocks(b)))
}

/// The launch to show, out of `launches`.
fn of_several(times: usize) -> String {
    format!("most expensive of {times}")
}

/// Describes each kernel of a recording by its most expensive launch.
fn recorded(recording: &Recording, chip: &Chip) -> Vec<Kernel> {
    let kernels = recording.kernels();
    let described = kernels.iter().filter_map(|kernel| {
        let launches: Vec<_> = recording.of(kernel).map(|launch| launch.profile.clone()).collect();
        let times = launches.len();
        let whole = launches.iter().map(LaunchProfile::work).sum();
        let launch = most_expensive(launches, chip)?;
        let threads = |shape: [u32; 3]| shape.map(|extent| extent.to_string()).join("×");
        let mut size = format!("{} blocks of {}", threads(launch.grid), threads(launch.block));
        if times > 1 {
            size.push_str(&format!(", {}", of_several(times)));
        }
        let resources = Resources::launched(kernel, &launch, &recording.modules, chip.capability());
        Some(kernel_of(chip, &resources, launch, whole, size))
    });
    described.collect()
}

fn kernel_of(
    chip: &Chip,
    resources: &Resources,
    mut launch: LaunchProfile,
    whole: InstructionCounts,
    size: String,
) -> Kernel {
    let needs = BlockNeeds {
        threads: launch.block.iter().product(),
        registers_per_thread: resources.registers.unwrap_or(0),
        static_shared: resources.static_shared,
        dynamic_shared: launch.shared_bytes.saturating_sub(resources.static_shared),
    };
    let occupancy = Occupancy::new(chip.sm, needs).map_err(|error| error.to_string());
    let source = source_lines(&launch);
    for line in &mut launch.lines {
        line.file = source::relative(&line.file);
    }
    let operations = launch.operations.total();
    Kernel {
        family: None,
        launch,
        whole,
        size,
        source,
        occupancy,
        operations: (operations > 0).then_some(operations as f64),
        measured: None,
    }
}

/// The lines with counters and a few around each, as far as the source is here.
fn source_lines(launch: &LaunchProfile) -> Vec<SourceLine> {
    let mut wanted: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    for line in &launch.lines {
        let around = line.line.saturating_sub(AROUND).max(1)..=line.line.saturating_add(AROUND);
        wanted.entry(&line.file).or_default().extend(around);
    }
    let mut lines = Vec::new();
    for (file, numbers) in wanted {
        let Some(text) = source::locate(file).and_then(|path| std::fs::read_to_string(path).ok()) else {
            continue;
        };
        let all: Vec<&str> = text.lines().collect();
        lines.extend(numbers.into_iter().filter_map(|number| {
            Some(SourceLine {
                file: source::relative(file),
                number,
                text: (*all.get(number as usize - 1)?).to_owned(),
            })
        }));
    }
    lines
}
