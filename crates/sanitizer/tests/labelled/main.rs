//! Programs in CUDA C++, as nvcc compiles them, each with a label: right, or which tools may find what is wrong with it.
//!
//! ```text
//! cargo test -p sanitizer --test labelled                                  as compiled at -O3, right ones under three schedules
//! cargo test -p sanitizer --test labelled -- --ignored --nocapture         compiled anew in five ways, under ten schedules
//! cargo test -p sanitizer --test labelled compute_80 -- --ignored          in one of them: without_, with_little_, 75, 80, 90
//! ```

mod goes_on;
mod orders;
mod reports;

use std::collections::BTreeSet;
use std::io::Read;

use flate2::read::GzDecoder;
use gpu_model::chips::H200;
use sanitizer::{Check, Checks, SCHEDULES, Sanitizer, Severity};
use virtual_gpu::{Gpu, Launch, Options};

/// A file of programs.
struct File {
    name: &'static str,
    source: &'static str,
    /// What nvcc made of it (its line is in the source's head), packed by `gzip -9n`.
    packed: &'static [u8],
}

impl File {
    fn ptx(&self) -> String {
        let mut ptx = String::new();
        GzDecoder::new(self.packed).read_to_string(&mut ptx).expect("a packed text");
        ptx
    }
}

macro_rules! files {
    ($($name:literal)*) => {
        const FILES: &[File] = &[$(File {
            name: $name,
            source: include_str!(concat!($name, ".cu")),
            packed: include_bytes!(concat!($name, ".ptx.gz")),
        }),*];
    };
}
files! {
    "synchronisation" "memory_and_copies" "suites" "unoptimised" "clusters" "libraries"
    "spaces" "algorithms" "stages" "twins" "collectives" "details" "explored" "solvers"
}

/// Schedules that `check` takes for a program if nothing is said.
const DEFAULT: u64 = SCHEDULES as u64;

const WORDS: usize = 1024;
const BYTES: u64 = 4 * WORDS as u64;

/// A kernel with its label and its launch, from the line above it.
struct Labelled<'a> {
    name: &'a str,
    /// The tools that may find its bug; none if it is right.
    tools: BTreeSet<Check>,
    launch: Launch,
    /// Whether the host fills `a` and `b`.
    filled: [bool; 2],
    /// What the label depends on, besides the source: optimisation (`only=optimised`), or copies that are asynchronous,
    /// which they are since compute capability 8.0 (`only=async`).
    only: Option<&'a str>,
}

impl<'a> Labelled<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let mut words = line.strip_prefix("// @")?.split_whitespace();
        let (name, label) = (words.next()?, words.next()?);
        let tools = label.split(',').filter_map(|tool| match tool {
            "memory" => Some(Check::Memory),
            "race" => Some(Check::Race),
            "init" => Some(Check::Init),
            "barrier" => Some(Check::Barrier),
            _ => None,
        });
        let tools: BTreeSet<Check> = tools.collect();
        assert_eq!(tools.is_empty(), label == "ok", "{line}");
        let (mut launch, mut filled, mut only) = (Launch::new(4, 128), [true; 2], None);
        for word in words {
            let (key, value) = word.split_once('=').expect(line);
            let numbers: Vec<u32> = value.split(',').filter_map(|number| number.parse().ok()).collect();
            match key {
                "grid" => launch.grid = [numbers[0], 1, 1],
                "block" => launch.block = [numbers[0], numbers.get(1).copied().unwrap_or(1), 1],
                "shared" => launch.dynamic_shared = numbers[0],
                "coop" => launch.cooperative = true,
                "a" => filled[0] = value != "none",
                "b" => filled[1] = value != "none",
                "only" => only = Some(value),
                _ => panic!("{line}"),
            }
        }
        Some(Labelled { name, tools, launch, filled, only })
    }

    /// The tools that found something under a schedule, with the first thing that each said.
    fn run(&self, ptx: &str, seed: Option<u64>) -> Vec<(Check, String)> {
        // No program runs on without end, whatever it was found to be.
        let options = Options {
            seed,
            threads: 1,
            spin_limit: Some(1_000_000),
            watchdog: Some(100_000_000),
            ..Options::default()
        };
        let gpu = Gpu::with_options(&H200, options);
        let module = gpu.load(ptx).expect("nvcc's PTX");
        let kernel = module.kernel(self.name).expect(self.name);
        let sanitizer = Sanitizer::new(Checks::ALL);
        let memory = gpu.memory();
        let buffers = self.filled.map(|filled| {
            let buffer = memory.alloc(BYTES).expect("a few kilobytes");
            sanitizer.host_allocated(buffer, BYTES, None);
            if filled {
                sanitizer.host_wrote(buffer, BYTES);
            }
            buffer
        });
        let numbers: Vec<u8> = (0..WORDS as u32).flat_map(u32::to_le_bytes).collect();
        memory.write(buffers[0], &numbers).expect("as long as the buffer");
        memory.write(buffers[1], &vec![0; 4 * WORDS]).expect("as long as the buffer");
        let params = [buffers[0], buffers[1], WORDS as u64].into_iter().flat_map(u64::to_le_bytes);
        let params: Vec<u8> = params.take(20).collect();
        if gpu.launch(&kernel, &self.launch, &params, &mut sanitizer.launch()).is_ok() {
            sanitizer.host_read(buffers[1], BYTES);
        }
        let findings = sanitizer.findings();
        let told = findings.into_iter().filter(|finding| finding.severity() != Severity::Note);
        told.map(|finding| {
            let sites = finding.sites.iter().map(|site| (site.what, site.ptx_line, site.block, site.thread));
            (
                finding.check(),
                format!("{} (seed {seed:?}) {:?}", finding.message(), sites.collect::<Vec<_>>()),
            )
        })
        .collect()
    }
}

/// What came of many programs.
#[derive(Default)]
struct Tally {
    /// The schedule that first showed each bug.
    found: Vec<u64>,
    late: Vec<String>,
    missed: Vec<String>,
    silent: u32,
    false_alarms: Vec<String>,
}

impl Tally {
    /// Runs a file's programs: those that are right must be silent under so many schedules, and a bug must be found within ten
    /// times as many as `check` takes if nothing is said. `without`: what this way of compiling takes away.
    fn run(&mut self, source: &str, ptx: &str, schedules: u64, without: Option<&str>) {
        // One kernel at a time: a module of two hundred takes longer to load than a kernel to run.
        for case in source.lines().filter_map(Labelled::parse) {
            let ptx = alone(ptx, case.name);
            let seeds = |schedules: u64| (0..schedules).map(|seed| (seed != 0).then_some(seed));
            if case.only.is_some() && case.only == without {
                // Nothing is wrong with it then, or more than can be seen through, and nothing is asked of it.
            } else if case.tools.is_empty() {
                match seeds(schedules).find_map(|seed| case.run(&ptx, seed).into_iter().next()) {
                    None => self.silent += 1,
                    Some((check, message)) => {
                        self.false_alarms.push(format!("{}: {check:?}: {message}", case.name));
                    }
                }
            } else {
                let shows = |seed: &Option<u64>| {
                    case.run(&ptx, *seed).iter().any(|(check, _)| case.tools.contains(check))
                };
                match seeds(10 * DEFAULT).find(shows) {
                    None => self.missed.push(case.name.to_owned()),
                    Some(seed) => {
                        let schedule = seed.unwrap_or(0);
                        self.found.push(schedule);
                        if schedule >= DEFAULT {
                            self.late.push(format!("{} by {schedule}", case.name));
                        }
                    }
                }
            }
        }
    }

    fn expect_no_mistake(&self, how: &str) {
        let Tally { found, late, missed, silent, false_alarms } = self;
        let within = |schedules| found.iter().filter(|&&schedule| schedule < schedules).count();
        let counts = [1, 2, 4, DEFAULT, 10 * DEFAULT]
            .map(|schedules| format!("{} within {schedules}", within(schedules)));
        println!(
            "{how}: {} bugs found ({}), {} missed; {silent} right programs silent, {} false alarms; late: {late:?}",
            found.len(),
            counts.join(", "),
            missed.len(),
            false_alarms.len()
        );
        let wrong = !missed.is_empty() || !false_alarms.is_empty();
        assert!(!wrong, "{how}: missed: {missed:?}, false alarms: {false_alarms:#?}");
        assert!(within(DEFAULT) * 100 >= found.len() * 99, "{how}: found late: {late:?}");
    }
}

#[test]
fn every_label_is_right() {
    let mut tally = Tally::default();
    FILES.iter().for_each(|file| tally.run(file.source, &file.ptx(), 3, None));
    tally.expect_no_mistake("as committed");
}

/// The same programs as nvcc compiles them in another way: what they are called, nvcc's options, what the way takes away.
fn compiled(how: &str, flags: &[&str], without: Option<&str>) {
    let folder = std::env::temp_dir().join(format!("warpsmith-labelled-{}{how}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let mut tally = Tally::default();
    for &File { name, source, .. } in FILES {
        // There are clusters since compute capability 9.0.
        if name == "clusters" && !flags.contains(&"-arch=compute_90") {
            continue;
        }
        let ptx = folder.join("out.ptx");
        let source_file = format!("{}/tests/labelled/{name}.cu", env!("CARGO_MANIFEST_DIR"));
        let mut nvcc = std::process::Command::new("nvcc");
        nvcc.args(["-std=c++17", "-O3", "-ptx", "-w"]).args(flags).arg(&source_file).arg("-o").arg(&ptx);
        let done = nvcc.output().expect("nvcc is on the path");
        assert!(done.status.success(), "{how}: {}", String::from_utf8_lossy(&done.stderr));
        let ptx = std::fs::read_to_string(&ptx).expect("what nvcc wrote");
        tally.run(source, &ptx, 10, without);
    }
    std::fs::remove_dir_all(&folder).expect("made above");
    tally.expect_no_mistake(how);
}

#[test]
#[ignore = "needs nvcc on the path, and minutes"]
fn without_optimisation() {
    compiled("-G", &["-arch=compute_90", "-G"], Some("optimised"));
}

#[test]
#[ignore = "needs nvcc on the path, and minutes"]
fn with_little_optimisation() {
    compiled("cicc -O1", &["-arch=compute_90", "-Xcicc", "-O1"], Some("optimised"));
}

#[test]
#[ignore = "needs nvcc on the path, and minutes"]
fn for_compute_75() {
    compiled("-O3 for compute_75", &["-arch=compute_75"], Some("async"));
}

#[test]
#[ignore = "needs nvcc on the path, and minutes"]
fn for_compute_80() {
    compiled("-O3 for compute_80", &["-arch=compute_80"], None);
}

#[test]
#[ignore = "needs nvcc on the path, and minutes"]
fn for_compute_90() {
    compiled("-O3 for compute_90", &["-arch=compute_90"], None);
}

/// A file that is not of the corpus, labelled in the same way, with what nvcc makes of it beside it.
#[test]
#[ignore = "needs WARPSMITH_LABELLED to name the source"]
fn labels_of_another_file_are_right() {
    let Ok(path) = std::env::var("WARPSMITH_LABELLED") else { return };
    let source = std::fs::read_to_string(&path).expect("WARPSMITH_LABELLED names a file");
    let ptx = std::path::Path::new(&path).with_extension("ptx");
    let ptx = std::fs::read_to_string(ptx).expect("nvcc's PTX beside it");
    let mut tally = Tally::default();
    tally.run(&source, &ptx, 10, None);
    tally.expect_no_mistake(&path);
}

/// The module without the other kernels.
fn alone(ptx: &str, name: &str) -> String {
    let (mut out, mut kept, mut depth) = (String::new(), true, 0);
    for line in ptx.lines() {
        if let Some(entry) = line.strip_prefix(".visible .entry ") {
            kept = entry.trim_end_matches('(').trim_end_matches("()") == name;
        }
        if kept {
            out.push_str(line);
            out.push('\n');
        }
        // Inline assembly has braces of its own.
        depth += line.matches('{').count();
        let closed = line.matches('}').count();
        depth -= closed;
        kept |= closed > 0 && depth == 0;
    }
    out
}
