//! Instructions and the targets and versions they require: the virtual GPU against ptxas, which still reads modules for
//! targets from sm_20 on, though it generates code for sm_75 and later.

use std::collections::BTreeSet;

use gpu_model::{Capability, Chip, SmLimits, chips};
use libtest_mimic::Failed;
use virtual_gpu::{Gpu, Options};

use crate::ptxas;

/// Targets for which ptxas generates no code: it reads them when asked for sm_75.
const OLD: [&str; 14] = [
    "sm_20", "sm_21", "sm_30", "sm_32", "sm_35", "sm_37", "sm_50", "sm_52", "sm_53", "sm_60", "sm_61",
    "sm_62", "sm_70", "sm_72",
];

const TARGETS: [&str; 20] = [
    "sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_100f",
    "sm_103", "sm_103a", "sm_110", "sm_110a", "sm_120", "sm_120a", "sm_120f", "sm_121", "sm_121a",
];

/// The questions: every target with a version that knows them all, and every version with targets that are each
/// sufficient.
fn questions() -> Vec<(String, &'static str)> {
    let targets = OLD.iter().chain(&TARGETS).map(|target| ("9.4".to_owned(), *target));
    let minors = [(3, 1..=2), (4, 0..=3), (5, 0..=0), (6, 0..=5), (7, 0..=8), (8, 0..=8), (9, 0..=4)];
    let versions = minors.into_iter().flat_map(|(major, minors)| minors.map(move |minor| (major, minor)));
    let versions = versions.map(|version| {
        let target = match version {
            (3, _) => "sm_35",
            (4, _) => "sm_50",
            (5, _) => "sm_60",
            (6, 0..=2) => "sm_70",
            (6, _) => "sm_75",
            (7, 0..=7) => "sm_80",
            (7, _) | (8, 0..=5) => "sm_90",
            (8, 6) => "sm_100",
            _ => "sm_120",
        };
        (format!("{}.{}", version.0, version.1), target)
    });
    targets.chain(versions).collect()
}

/// The common declarations, the instructions, and those that the virtual GPU does not execute.
fn instructions() -> (String, String, Vec<&'static str>, Vec<&'static str>) {
    let (mut inner, mut outer, mut all, mut left_out) =
        (String::new(), String::new(), Vec::new(), Vec::new());
    for line in include_str!("requirements.txt").lines().filter(|line| !line.starts_with('#')) {
        match (line.strip_prefix(": "), line.strip_prefix("^ ")) {
            (Some(declared), _) => inner.push_str(declared),
            (_, Some(declared)) => outer.push_str(declared),
            _ => {
                let executed = line.strip_prefix("~ ");
                left_out.extend(executed);
                all.push(executed.unwrap_or(line));
            }
        }
    }
    (inner, outer, all, left_out)
}

/// The words of an instruction that the table may look for, and what it adds to them.
fn words(line: &'static str) -> (&'static str, Vec<&'static str>) {
    // Some are in braces, after what they need.
    let needs = |statement: &&str| statement.starts_with(['{', '.']) || statement.starts_with("call");
    let line = line.split("; ").find(|statement| !needs(statement)).unwrap_or(line);
    let (opcode, operands) = line.split_once([' ', ';']).unwrap_or((line, ""));
    let (name, modifiers) = opcode.split_once('.').unwrap_or((opcode, ""));
    let mut words: Vec<_> = modifiers.split('.').collect();
    match name {
        "mov" => words.extend(operands.split([',', '.', ';'])),
        "min" | "max" if operands.matches(',').count() == 3 => words.push("3-input"),
        "fence" if !modifiers.starts_with("proxy") && !modifiers.starts_with("mbarrier_init") => {
            words.push("own")
        }
        _ => {}
    }
    (name, words)
}

/// Every form in every row of the table must be that of an instruction asked about.
pub fn every_row() -> Result<(), Failed> {
    let asked: Vec<_> = instructions().2.into_iter().map(words).collect();
    let list = |text: &'static str| -> Vec<&str> { text.trim_matches(['{', '}']).split(',').collect() };
    let mut missing = Vec::new();
    let table = include_str!("../../src/decode/requirements.txt");
    for row in table.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        // Directives are not instructions; `refused.rs` tests them.
        for form in row.split(' ').skip(2).filter(|form| !form.starts_with('.')) {
            let mut parts = form.split('.').map(list);
            let names = parts.next().unwrap_or_default();
            let mut all: Vec<Vec<&str>> = names.into_iter().map(|name| vec![name]).collect();
            for part in parts {
                let longer = |one: Vec<&'static str>| {
                    part.iter().map(move |word| [one.clone(), vec![*word]].concat()).collect::<Vec<_>>()
                };
                all = all.into_iter().flat_map(longer).collect();
            }
            let is_asked = |form: &Vec<&str>| {
                asked.iter().any(|(name, words)| {
                    *name == form[0] && form[1..].iter().all(|word| words.contains(word))
                })
            };
            missing.extend(all.into_iter().filter(|form| !is_asked(form)).map(|form| form.join(".")));
        }
    }
    if missing.is_empty() { Ok(()) } else { Err(missing.join("\n").into()) }
}

/// A chip with this target: another chip's figures with the target's capability.
fn chip(target: &str) -> &'static Chip {
    let capability: Capability = target.parse().unwrap_or_else(|_| panic!("no capability: {target}"));
    let least = Capability::new(7, 5);
    let limits = SmLimits::of(capability.max(least)).or(SmLimits::of(Capability::new(9, 0)));
    let sm = limits.unwrap_or(chips::H200.sm);
    Box::leak(Box::new(Chip { sm, ..chips::H200 }))
}

/// Asks both about every instruction.
pub fn both() -> Result<(), Failed> {
    let (inner, outer, all, left_out) = instructions();
    let mut wrong = Vec::new();
    for (version, target) in questions() {
        let head = format!(".version {version}\n.target {target}\n.address_size 64\n{outer}\n");
        let kernel = |number: usize, line: &str| {
            format!(".visible .entry k{number}(.param .u64 p) {{ {inner} {line} ret; }}\n")
        };
        let arch = if OLD.contains(&target) { "sm_75" } else { target };
        let taken = taken(&head, arch, &all, &kernel)?;
        let gpu = Gpu::with_options(chip(target), Options { threads: 1, ..Options::default() });
        let load = |lines: &[&str]| {
            let kernels: String =
                lines.iter().enumerate().map(|(number, line)| kernel(number, line)).collect();
            gpu.load(&format!("{head}{kernels}"))
        };
        // Most accepted instructions are accepted together.
        let executed = all.iter().copied().filter(|line| !left_out.contains(line));
        let (own, others): (Vec<_>, Vec<_>) = executed.partition(|line| taken.contains(line));
        if load(&own).is_err() {
            for line in own {
                if let Err(error) = load(&[line]) {
                    wrong.push(format!("{version} {target}: ptxas takes {line}\n    {error}"));
                }
            }
        }
        for line in others {
            if load(&[line]).is_ok() {
                wrong.push(format!("{version} {target}: ptxas refuses {line}"));
            }
        }
        for line in &left_out {
            let error = load(&[line]).err().map(|error| error.to_string()).unwrap_or_default();
            if taken.contains(line) && error.contains("it needs `.") {
                wrong.push(format!("{version} {target}: ptxas takes {line}\n    {error}"));
            }
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

/// The lines that ptxas accepts: it names those it rejects, or stops at one that it cannot parse.
fn taken<'a>(
    head: &str,
    arch: &str,
    lines: &[&'a str],
    kernel: &dyn Fn(usize, &str) -> String,
) -> Result<BTreeSet<&'a str>, std::io::Error> {
    if lines.is_empty() {
        return Ok(BTreeSet::new());
    }
    let kernels: String = lines.iter().enumerate().map(|(number, line)| kernel(number, line)).collect();
    let Some(complaint) = ptxas::complaint(&format!("{head}{kernels}"), arch)? else {
        return Ok(lines.iter().copied().collect());
    };
    let before = head.lines().count() + 1;
    // It also gives advice about lines that it accepts.
    let refused: Vec<&str> = complaint.lines().filter(|line| !line.contains("; info ")).collect();
    let named = |at: usize| {
        let place = format!(", line {};", before + at);
        refused.iter().any(|line| line.contains(&place))
    };
    let rest: Vec<_> =
        lines.iter().enumerate().filter(|(at, _)| !named(*at)).map(|(_, line)| *line).collect();
    if rest.len() < lines.len() {
        return taken(head, arch, &rest, kernel);
    }
    if lines.len() == 1 {
        return Ok(BTreeSet::new());
    }
    let (one, other) = lines.split_at(lines.len() / 2);
    let mut all = taken(head, arch, one, kernel)?;
    all.extend(taken(head, arch, other, kernel)?);
    Ok(all)
}
