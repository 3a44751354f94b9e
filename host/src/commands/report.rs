//! `warpsmith report`: one HTML page with counters, maps, roofline and occupancy.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use gpu_model::occupancy::{BlockNeeds, Occupancy};
use gpu_model::profile::LaunchProfile;
use gpu_model::{Chip, chips};
use report::html::{Kernel, Page, SourceLine};
use serde::Serialize;
use warpsmith_launch::{Description, Device, Wish};

use crate::answer::{Context, Outcome, Output};
use crate::demos::{self, Stage};
use crate::profiling;
use crate::registry;
use crate::resources::{self, Resources};
use crate::source;
use crate::terminal::Progress;

/// Arguments of `report`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Report {
    /// The page to write
    #[arg(long, value_name = "FILE")]
    html: PathBuf,

    #[command(flatten)]
    output: Output,
}

const EXAMPLES: &str = "\
Examples:
  warpsmith report --html report.html

All demos run on the virtual GPU at their small sizes, whatever --device says. Where a kernel is launched several \
times, the page shows the launch that wastes most. The page is one file: no network, no script.";

/// Source lines shown around each line with counters.
const AROUND: u32 = 2;

/// What `report --json` says of the page.
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
        let device = Device::open(Wish::Virtual)?;
        let chip = match warpsmith_cuda::taken()? {
            warpsmith_cuda::Taken::Virtual(chip) => chip,
            warpsmith_cuda::Taken::Gpu(_) => &chips::H200,
        };
        let kernels = gather(&device, chip, !self.output.json)?;
        let page = Page { chip, command: "warpsmith report --html FILE".to_owned(), kernels };
        let html = page.render();
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
        Ok(Outcome::Well)
    }

    /// Says what is wrong with the file's place before the demos run, not after.
    fn check_folder(&self) -> anyhow::Result<()> {
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
            let Some(launch) = launches.into_iter().max_by_key(|launch| launch.counters.waste()) else {
                continue;
            };
            // What a dispatcher launches beside the kernel that its row names has no row of its own.
            let own = rows.iter().find(|row| row.kernel == description.name).map(|row| row.size.as_str());
            let size = own.or(demos::row::common_size(&rows)).unwrap_or_default();
            let size = if times > 1 { format!("{size}, worst of {times}") } else { size.to_owned() };
            kernels.push(describe(device, chip, description, launch, size)?);
        }
    }
    Ok(kernels)
}

fn describe(
    device: &Device,
    chip: &Chip,
    description: &Description,
    mut launch: LaunchProfile,
    size: String,
) -> anyhow::Result<Kernel> {
    let resources = Resources::of(device, description, chip.capability())?;
    let needs = BlockNeeds {
        threads: launch.block.iter().product(),
        registers_per_thread: resources.registers.unwrap_or(0),
        static_shared: resources.static_shared,
        dynamic_shared: launch.shared_bytes.saturating_sub(resources.static_shared),
    };
    let occupancy = Occupancy::new(chip.sm, needs).map_err(|error| error.to_string());
    let source = source_lines(&launch);
    for line in &mut launch.lines {
        line.file = source::relative(&line.file).to_owned();
    }
    let operations = launch.operations.total();
    Ok(Kernel {
        launch,
        size,
        source,
        occupancy,
        operations: (operations > 0).then_some(operations as f64),
        measured: None,
    })
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
                file: source::relative(file).to_owned(),
                number,
                text: (*all.get(number as usize - 1)?).to_owned(),
            })
        }));
    }
    lines
}
