//! `warpsmith profile`: counters per kernel and per source line, on the virtual GPU.

mod compare;
mod lines;

use std::fmt::Write;

use gpu_model::chips;
use gpu_model::profile::{BySpace, InstructionCounts, Rates};
use warpsmith_cuda::profile::LaunchProfile;
use warpsmith_launch::DevicePreference;

use crate::answer::{Context, Outcome, Output};
use crate::merging::Merge;
use crate::registry;
use crate::size::Size;
use crate::subject::{Launched, Recording, Subject};
use crate::terminal::{self, grouped};

/// Arguments of `profile`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
#[command(group(clap::ArgGroup::new("about").required(true).multiple(true).args(["names", "program"])))]
pub struct Profile {
    #[command(flatten)]
    subject: Subject,

    /// Problem size: N, MxN or MxNxK
    #[arg(long, allow_hyphen_values = true)]
    size: Option<Size>,

    /// Compare two, such as before.json and after.json: by kernel, and the lines that have changed most
    #[arg(long, conflicts_with = "program")]
    compare: bool,

    #[command(flatten)]
    output: Output,
}

const EXAMPLES: &str = "\
Examples:
  warpsmith profile transpose_tile             which line has the bank conflicts
  warpsmith profile matmul_column_16 --size 64
  warpsmith profile -- cargo run               the kernels of a program, all its processes together
  warpsmith profile saxpy -- python3 x.py      one of them
  warpsmith profile p.json:saxpy               what WARPSMITH_PROFILE=p.json or --json has written
  warpsmith profile --compare before.json after.json
  warpsmith profile --compare matmul_naive matmul_tiled_16 --size 256
  warpsmith profile stretch_structs --json   {\"version\", \"model\", \"view\": \"ptx\", \"launches\": […]}

The virtual GPU makes the profile, whatever --device says. It counts PTX instructions: at its default \
level ptxas may merge neighbouring shared accesses, so that hardware shows fewer instructions and \
wavefronts; bytes and sectors agree. Lines are ranked by the clocks that they take, at the published rates, of the unit that is \
busiest with them; that is no forecast of time.";

impl Profile {
    /// Runs the command.
    pub fn run(&self, context: &Context) -> anyhow::Result<Outcome> {
        if self.compare {
            return self.compare();
        }
        let document = self.subject.recording(self.size)?;
        let elsewhere = context.device == DevicePreference::Gpu;
        self.output.print(&document, |document| text(document, elsewhere))?;
        Ok(document.outcome)
    }

    fn compare(&self) -> anyhow::Result<Outcome> {
        let [before, after] = &self.subject.each(self.size)?[..] else {
            anyhow::bail!("--compare takes two: profiles, FILE.json or FILE.json:KERNEL, or kernels");
        };
        let comparison = compare::Comparison::new(before, after, &rates(&after.model));
        self.output.print(&comparison, compare::Comparison::text)?;
        Ok(Outcome::Well)
    }
}

/// Those of the chip that was profiled.
fn rates(model: &str) -> Rates {
    Rates::of(chips::by_key(model).unwrap_or(&chips::H200))
}

fn text(document: &Recording, elsewhere: bool) -> String {
    let mut out = String::new();
    let gpu = if elsewhere { " (profiles are taken there, also when a real GPU is asked for)" } else { "" };
    for (index, kernel) in document.kernels().iter().enumerate() {
        let launched: Vec<&Launched> = document.of(kernel).collect();
        let whereabouts = format!(
            "{} on the virtual GPU ({}){gpu}: {}, counted per PTX instruction",
            terminal::heading(kernel),
            document.model,
            report::text::counted(launched.len() as u64, "launch", "launches")
        );
        let gap = if index > 0 { "\n" } else { "" };
        out.push_str(gap);
        out.push_str(&terminal::wrapped("", &whereabouts));
        shapes(&mut out, &launched, document.processes());
        of_kernel(&mut out, kernel, &launched, &document.merges, &rates(&document.model));
    }
    out
}

/// Which launches there are, if they are not one: how many of each shape, by process.
fn shapes(out: &mut String, launched: &[&Launched], processes: usize) {
    let shape = |[x, y, z]: [u32; 3]| format!("{x}x{y}x{z}");
    let mut shapes: Vec<(String, u64)> = Vec::new();
    for launch in launched {
        let profile = &launch.profile;
        let mut text = format!("grid {}, block {}", shape(profile.grid), shape(profile.block));
        if processes > 1 {
            let _ = write!(text, ", process {}", launch.process);
        }
        match shapes.iter_mut().find(|(known, _)| *known == text) {
            Some((_, count)) => *count += 1,
            None => shapes.push((text, 1)),
        }
    }
    if shapes.len() > 1 || processes > 1 {
        for (shape, count) in shapes {
            out.push_str(&terminal::wrapped("  ", &format!("{} × {shape}", grouped(count))));
        }
    }
    for fault in launched.iter().filter_map(|launch| launch.profile.fault.as_deref()) {
        out.push_str(&terminal::wrapped("  ended by: ", fault));
    }
}

fn of_kernel(out: &mut String, kernel: &str, launched: &[&Launched], merges: &[Merge], rates: &Rates) {
    let launches: Vec<LaunchProfile> = launched.iter().map(|launch| launch.profile.clone()).collect();
    let launches = &launches[..];
    out.push('\n');
    let work: InstructionCounts = launches.iter().map(LaunchProfile::work).sum();
    let memory_instructions: BySpace = launches.iter().map(|launch| launch.memory_instructions).sum();
    let all = work.counters;
    let shared = [
        ("shared loads", all.shared_load),
        ("shared stores", all.shared_store),
        ("shared atomics", all.shared_atomic),
    ];
    let global = [
        ("global loads", all.global_load),
        ("global stores", all.global_store),
        ("global atomics", all.global_atomic),
    ];
    let lanes = work.active_lanes().unwrap_or(0.0);
    let _ = writeln!(out, "  {} warp instructions, of {lanes:.1} lanes", grouped(work.warp_instructions));
    out.push_str(&to_memory(memory_instructions));
    for (name, s) in shared.into_iter().filter(|(_, s)| s.instructions > 0) {
        let counts = format!(
            "{name}: {} instructions, {} wavefronts (ideal {}), {} bank conflicts",
            grouped(s.instructions),
            grouped(s.wavefronts),
            grouped(s.ideal_wavefronts),
            grouped(s.bank_conflicts)
        );
        out.push_str(&terminal::wrapped("  ", &counts));
    }
    for (name, bulk) in [("bulk copies from", all.bulk_load), ("bulk copies to", all.bulk_store)] {
        if bulk.requests > 0 {
            let counts = format!(
                "{name} global memory: {} runs of bytes, {} sectors (computed from their places; no rule was measured)",
                grouped(bulk.requests),
                grouped(bulk.sectors)
            );
            out.push_str(&terminal::wrapped("  ", &counts));
        }
    }
    for (name, g) in global.into_iter().filter(|(_, g)| g.requests > 0) {
        let used = g.efficiency().map_or(String::new(), |e| match e {
            // Lanes that want the same bytes ask for more than moves.
            e if e > 1.0 => format!(", {:.0} % of their bytes asked for, as lanes share them", 100.0 * e),
            e => format!(", {:.0} % of their bytes used", 100.0 * e),
        });
        let counts =
            format!("{name}: {} requests, {} sectors{used}", grouped(g.requests), grouped(g.sectors));
        out.push_str(&terminal::wrapped("  ", &counts));
    }
    if let Some(reuse) = lines::reuse(&work) {
        out.push_str(&terminal::wrapped("  ", &reuse));
    }
    for launch in launches {
        for family in &launch.not_counted {
            let counts = format!("not counted: {} × {}", grouped(family.instructions), family.family);
            out.push_str(&terminal::wrapped("  ", &counts));
        }
    }
    out.push('\n');
    let found = lines::tell(out, launches, merges, rates);
    if all.shared_load.instructions > 0 {
        let sentence = match found == 0 {
            true => {
                "ptxas finds no shared loads to merge here: none of one thread are of neighbouring words from an aligned start."
            }
            false => {
                "Where ptxas merges loads, the hardware executes fewer, wider instructions for the same bytes; compiled at level \
                 0 it executes those that are counted here."
            }
        };
        out.push_str(&terminal::wrapped("", sentence));
    }
    let _ = registry::find(kernel).map(|(_, description)| {
        let _ = writeln!(out, "Source: {}:{}", registry::source(description), description.line);
    });
}

/// How many of the instructions went to which memory.
fn to_memory(by: BySpace) -> String {
    let spaces = [
        (by.parameter, "parameters"),
        (by.local, "local"),
        (by.shared, "shared"),
        (by.global, "global"),
        (by.constant, "constant"),
    ];
    let reached: Vec<String> = spaces
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, space)| format!("{space} {}", grouped(*count)))
        .collect();
    match reached.is_empty() {
        true => String::new(),
        false => terminal::wrapped("  ", &format!("of them to memory: {}", reached.join(", "))),
    }
}
