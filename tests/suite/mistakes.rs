//! The planted mistakes of `docs/mistakes.md`: the tools find what the page says they find, and nothing in the right twins.

use std::path::Path;
use std::process::Command;

use tests::mistakes::ALL;

use crate::Case;

const PAGE: &str = include_str!("../../docs/mistakes.md");
const SOURCES: [&str; 7] = [
    include_str!("../mistakes/src/stored_transposed.rs"),
    include_str!("../mistakes/src/second_from_first.rs"),
    include_str!("../mistakes/src/reused_guard.rs"),
    include_str!("../mistakes/src/dropped_tail.rs"),
    include_str!("../mistakes/src/missing_barrier.rs"),
    include_str!("../mistakes/src/two_arrays.rs"),
    include_str!("../mistakes/src/too_little_memory.rs"),
];

/// The cases.
pub fn cases() -> Vec<Case> {
    let mut cases = vec![
        Case::virtual_only("mistakes::the_pages_code_is_in_the_kernels", |_| code_is_real()),
        Case::virtual_only("mistakes::the_tools_say_what_the_page_says", |_| output_is_real()),
    ];
    cases.extend(ALL.map(|mistake| {
        Case::virtual_only(format!("mistakes::{}", mistake.name), move |_| {
            let (before, _) = run(mistake.name, "before", "all");
            anyhow::ensure!(!before, "the mistake is not noticed");
            let (after, text) = run(mistake.name, "after", "all");
            let mut lines = text.lines();
            let is_right = lines.next() == Some("right");
            let is_clean = lines.all(|line| line.starts_with("warpsmith: nothing found;"));
            anyhow::ensure!(after && is_right && is_clean, "the right twin: {text}");
            Ok(())
        })
    }));
    cases
}

/// Runs one kernel in a process of its own; whether all was well, and what was said.
fn run(name: &str, when: &str, checks: &str) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mistakes"));
    command.args([name, when]).env("WARPSMITH_DEVICE", "virtual").env_remove("WARPSMITH_CHECK");
    if !checks.is_empty() {
        command.env("WARPSMITH_CHECK", checks);
    }
    let output = command.output().expect("the program of this package starts");
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    (output.status.success(), text.into_owned())
}

/// The lines of each block of the page that is marked so.
fn blocks(mark: &str) -> Vec<Vec<&'static str>> {
    let mut blocks = Vec::new();
    let mut lines = PAGE.lines();
    while let Some(line) = lines.next() {
        if line == format!("```{mark}") {
            blocks.push(lines.by_ref().take_while(|line| *line != "```").map(str::trim).collect());
        }
    }
    blocks
}

/// Every line of code on the page stands in a kernel, in that order, without others between.
fn code_is_real() -> anyhow::Result<()> {
    let sources = SOURCES.map(|text| text.lines().map(str::trim).collect::<Vec<_>>());
    let blocks = blocks("rust");
    anyhow::ensure!(blocks.len() >= 14, "{} blocks", blocks.len());
    for block in blocks {
        let found = sources.iter().any(|source| source.windows(block.len()).any(|lines| lines == block));
        anyhow::ensure!(found, "in no kernel:\n{}", block.join("\n"));
    }
    Ok(())
}

/// Every line after a command is part of what it prints.
fn output_is_real() -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()?;
    let root = format!("{}/", root.display());
    let mut commands = 0;
    for line in blocks("console").into_iter().flatten().scan(String::new(), |said, line| {
        if let Some(command) = line.strip_prefix("$ ") {
            let words: Vec<&str> = command.split(' ').collect();
            let (checks, words) = match words[0].strip_prefix("WARPSMITH_CHECK=") {
                Some(checks) => (checks, &words[2..]),
                None => ("", &words[1..]),
            };
            *said = run(words[0], words[1], checks).1.replace(&root, "");
        }
        Some((line, said.clone()))
    }) {
        let (line, said) = line;
        if line.starts_with("$ ") {
            commands += 1;
        } else {
            anyhow::ensure!(said.contains(line), "not said: {line}\nsaid:\n{said}");
        }
    }
    anyhow::ensure!(commands >= 15, "{commands} commands");
    Ok(())
}
