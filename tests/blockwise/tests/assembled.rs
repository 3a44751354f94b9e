//! What `ptxas` makes of the kernels, without a GPU: each takes no more registers than its twin in raw pointers and two more, but
//! for those of [`EXCEPTIONS`], and none has local memory.
//!
//! Without `ptxas` there is nothing to test; `WARPSMITH_REQUIRE=ptxas` makes that a failure.

mod twins;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use twins::pairs::{PAIRS, Pair};

const CHIPS: [&str; 4] = ["sm_75", "sm_80", "sm_90", "sm_90a"];

/// A kernel that takes more than a twin, where, and why. A multiprocessor's registers are enough for as many of its blocks as of the
/// twin's.
const EXCEPTIONS: [(&str, &str, &[&str], &str); 4] = [
    (
        "safe_matmul_tiled_16",
        "matmul_tiled_16",
        &["sm_80"],
        "each matrix has its own extents, the twin has m, n and k. Required to be equal, as many, and 44 for 40 on sm_75; comparisons in \
         32 bits, as many; a thread's only element visited without a loop 30, and branches around the loads, 71 instructions a step for 66",
    ),
    (
        "safe_transpose_naive",
        "transpose_naive",
        &["sm_75"],
        "each matrix has its own extents; and ptxas keeps the four rows' places, the twin steps from one to the next. As many with \
         places by elements, with those of the output computed last, with comparisons in 32 bits",
    ),
    (
        "safe_matmul_registers",
        "matmul_vectors",
        &["sm_75", "sm_80", "sm_90", "sm_90a"],
        "edges and rows that are no whole fours are guarded: this twin takes whole tiles only, raw_matmul_registers what the kernel does",
    ),
    (
        "safe_matmul_ahead",
        "raw_matmul_ahead",
        &["sm_75", "sm_80"],
        "128 for 125, and no more than 128 on sm_90, where the twin has 140: each matrix has its own extents. Comparisons in 64 bits 129, \
         and 140 on sm_90; places in 32 bits 136 and 143; places by bytes, and fours told apart first, as many",
    ),
];

#[test]
fn registers_are_the_twins_and_local_memory_is_none() {
    let Some(_version) = ptxas(&["--version"]) else {
        let required =
            std::env::var("WARPSMITH_REQUIRE").is_ok_and(|what| what.split(',').any(|word| word == "ptxas"));
        assert!(!required, "WARPSMITH_REQUIRE asks for ptxas, and there is none on the search path");
        return;
    };
    let [safe, raw] = twins::modules();
    let raw = only(raw, &PAIRS.map(|pair| pair.raw));
    let mut wrong = Vec::new();
    for chip in CHIPS {
        let report = assemble(chip, "safe", safe);
        let report_of_twins = assemble(chip, "raw", &raw);
        // Twins that are nobody else's stand beside the kernels.
        let (own, mut twins) = (registers(&report), registers(&report_of_twins));
        twins.extend(own.iter().filter(|(name, _)| name.starts_with("raw_")));
        for Pair { safe: safe_name, raw: raw_name, .. } in PAIRS {
            let (own, twin) = (own[safe_name], twins[raw_name]);
            println!("{chip} {safe_name}: {own} registers, {raw_name}: {twin}");
            let is_excepted = EXCEPTIONS
                .iter()
                .any(|(safe, raw, chips, _)| (*safe, *raw) == (safe_name, raw_name) && chips.contains(&chip));
            let threads = threads(safe, safe_name);
            let problem = match (own <= twin + 2, is_excepted) {
                (true, false) => continue,
                (true, true) => "and is an exception no more",
                (false, false) => "and is no exception",
                (false, true) if blocks(own, threads) < blocks(twin, threads) => {
                    "and fewer of its blocks fit"
                }
                (false, true) => continue,
            };
            wrong.push(format!("{safe_name} takes {own} registers for {chip}, {raw_name} {twin}, {problem}"));
        }
        let none = "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads";
        let mut frames = report.lines().filter(|line| line.contains("stack frame"));
        assert_eq!(frames.find(|line| *line != none), None, "for {chip}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What `ptxas` says, on either stream.
fn ptxas(arguments: &[&str]) -> Option<String> {
    let run = Command::new("ptxas").args(arguments).output().ok()?;
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    Some(String::from_utf8_lossy(&run.stdout).into_owned() + &String::from_utf8_lossy(&run.stderr))
}

fn assemble(chip: &str, name: &str, ptx: &str) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("twins-{name}.ptx"));
    std::fs::write(&path, ptx).unwrap();
    ptxas(&["-v", "-arch", chip, "-o", "/dev/null", path.to_str().unwrap()]).unwrap()
}

/// The PTX with these kernels alone: `ptxas` would take a minute for all the others.
fn only(ptx: &str, kernels: &[&str]) -> String {
    let mut pieces = ptx.split(".visible .entry ");
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let name = piece.split('(').next().unwrap_or_default();
        let end = piece.find("\n\n}\n").expect("an entry has an end") + 4;
        let (entry, rest) = piece.split_at(end);
        if kernels.contains(&name) {
            text += ".visible .entry ";
            text += entry;
        }
        text += rest;
    }
    text
}

/// The threads of a kernel's block, by its `.reqntid`.
fn threads(ptx: &str, kernel: &str) -> u64 {
    let entry = &ptx[ptx.find(&format!(".entry {kernel}(")).unwrap()..];
    let shape = &entry[entry.find(".reqntid ").unwrap() + 9..];
    let shape = shape.split('\n').next().unwrap();
    shape.split(',').map(|side| side.trim().parse::<u64>().unwrap()).product()
}

/// How many blocks a multiprocessor's 65536 registers are enough for: threads are given them by eights.
fn blocks(registers: u64, threads: u64) -> u64 {
    65536 / (registers.next_multiple_of(8) * threads)
}

/// The registers of each kernel.
fn registers(report: &str) -> BTreeMap<&str, u64> {
    let mut kernel = "";
    let mut found = BTreeMap::new();
    for line in report.lines() {
        if let Some(name) = line.split("Compiling entry function '").nth(1) {
            kernel = name.split('\'').next().unwrap_or_default();
        } else if let Some(used) = line.split("Used ").nth(1) {
            let number = used.split(' ').next().unwrap_or_default();
            found.insert(kernel, number.parse().unwrap());
        }
    }
    found
}
