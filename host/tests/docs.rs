//! The guides do what they say: every command of theirs that needs no GPU runs, and shows what the page promises.

use std::collections::HashMap;
use std::process::Command;

/// Commands that answer the same on every machine: by arithmetic, or by counting on the virtual GPU.
const REPEATABLE: [&str; 5] = ["explain", "occupancy", "roofline", "devices", "demo"];

fn run(line: &str) -> String {
    let mut words = line.split_whitespace();
    assert_eq!(words.next(), Some("warpsmith"), "{line}");
    let output = Command::new(env!("CARGO_BIN_EXE_warpsmith"))
        .args(words)
        .env("WARPSMITH_DEVICE", "virtual")
        .output()
        .expect("the program of this package can be started");
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn is_repeatable(line: &str) -> bool {
    line.split_whitespace().nth(1).is_some_and(|command| REPEATABLE.contains(&command))
}

#[test]
fn every_number_of_the_facts_is_shown_by_its_command() {
    let mut shown = 0;
    // A demo shows many numbers and is run once.
    let mut texts: HashMap<&str, String> = HashMap::new();
    for row in include_str!("../../docs/facts.md").lines().filter(|row| row.starts_with("| ")) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [_, statement, command, promise] = cells[..] else { panic!("four cells are expected: {row}") };
        let (command, promise) = (command.trim_matches('`'), promise.trim_matches(['`', ' ', '|']));
        if promise.is_empty() || !is_repeatable(command) {
            continue;
        }
        let text = texts.entry(command).or_insert_with(|| run(command));
        assert!(text.contains(promise), "{statement}: `{command}` does not show `{promise}`:\n{text}");
        shown += 1;
    }
    assert!(shown > 60, "{shown}");
}

#[test]
fn every_command_of_the_guide_runs() {
    let mut ran = 0;
    for line in include_str!("../../docs/memory-guide.md").lines() {
        let Some(command) = line.strip_prefix("    ").filter(|line| line.starts_with("warpsmith ")) else {
            continue;
        };
        let command = command.split('#').next().unwrap_or(command);
        if is_repeatable(command) {
            run(command);
            ran += 1;
        }
    }
    assert!(ran > 25, "{ran}");
}
