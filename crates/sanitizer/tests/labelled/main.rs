//! Programs in CUDA C++, as nvcc compiles them, each with a label: right, or which tools may find what is wrong with it.
//!
//! `cargo test -p sanitizer --test labelled` checks each label, the right ones under ten schedules;
//! `cargo test -p sanitizer --test labelled -- --nocapture` also prints what was found, missed and false.

use std::collections::BTreeSet;

use gpu_model::chips::H200;
use sanitizer::{Check, Checks, Sanitizer, Severity};
use virtual_gpu::{Gpu, Launch, Options};

const FILES: [(&str, &str); 2] = [
    (include_str!("synchronisation.cu"), include_str!("synchronisation.ptx")),
    (include_str!("memory_and_copies.cu"), include_str!("memory_and_copies.ptx")),
];
const WORDS: usize = 1024;
const BYTES: u64 = 4 * WORDS as u64;
const SCHEDULES: u64 = 10;

/// A kernel with its label and its launch, from the line above it.
struct Labelled<'a> {
    name: &'a str,
    /// The tools that may find its bug; none if it is right.
    tools: BTreeSet<Check>,
    launch: Launch,
    /// Whether the host fills `a` and `b`.
    filled: [bool; 2],
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
        let (mut launch, mut filled) = (Launch::new(4, 128), [true; 2]);
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
                _ => panic!("{line}"),
            }
        }
        Some(Labelled { name, tools, launch, filled })
    }

    /// The tools that found something under a schedule, with the first thing that each said.
    fn run(&self, ptx: &str, seed: Option<u64>) -> Vec<(Check, String)> {
        let options = Options { seed, threads: 1, spin_limit: Some(1_000_000), ..Options::default() };
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
        let told = findings.into_iter().filter(|finding| finding.severity != Severity::Note);
        told.map(|finding| (finding.check, finding.message)).collect()
    }
}

#[test]
fn every_label_is_right() {
    let (mut found, mut missed, mut silent, mut false_alarms) = (0, Vec::new(), 0, Vec::new());
    for (source, ptx) in FILES {
        // One kernel at a time: a module of two hundred takes longer to load than a kernel to run.
        for case in source.lines().filter_map(Labelled::parse) {
            let ptx = alone(ptx, case.name);
            if case.tools.is_empty() {
                let seeds = (0..SCHEDULES).map(|seed| (seed != 0).then_some(seed));
                match seeds.into_iter().find_map(|seed| case.run(&ptx, seed).into_iter().next()) {
                    None => silent += 1,
                    Some((check, message)) => {
                        false_alarms.push(format!("{}: {check:?}: {message}", case.name))
                    }
                }
            } else if case.run(&ptx, None).iter().any(|(check, _)| case.tools.contains(check)) {
                found += 1;
            } else {
                missed.push(case.name);
            }
        }
    }
    println!(
        "{found} bugs found, {} missed; {silent} right programs silent, {} false alarms",
        missed.len(),
        false_alarms.len()
    );
    assert!(missed.is_empty(), "missed: {missed:?}");
    assert!(false_alarms.is_empty(), "false alarms: {false_alarms:#?}");
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
