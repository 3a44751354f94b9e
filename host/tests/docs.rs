//! The guides do what they say: every command of theirs that needs no GPU runs, and shows what the page promises.

use std::collections::HashMap;
use std::process::Command;

/// Commands that answer the same on every machine: by arithmetic, or by counting on the virtual GPU.
const REPEATABLE: [&str; 7] = ["explain", "occupancy", "roofline", "devices", "demo", "check", "profile"];

/// What a command prints, if it ends as it should: well, or with a message when it is one to be refused.
fn run(line: &str, refused: bool) -> String {
    let mut words = line.split_whitespace();
    assert_eq!(words.next(), Some("warpsmith"), "{line}");
    let output = Command::new(env!("CARGO_BIN_EXE_warpsmith"))
        .args(words)
        .env("WARPSMITH_DEVICE", "virtual")
        .output()
        .expect("the program of this package can be started");
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.success(), !refused, "{line}: {error}");
    if refused { error } else { String::from_utf8(output.stdout).unwrap() }
}

/// The words alone: where a line is broken does not matter.
fn unbroken(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_repeatable(line: &str) -> bool {
    let mut words = line.split_whitespace();
    words.next() == Some("warpsmith") && words.next().is_some_and(|command| REPEATABLE.contains(&command))
}

#[test]
fn every_number_of_the_facts_is_shown_by_its_command() {
    let mut shown = 0;
    // A demo shows many numbers and is run once.
    let mut texts: HashMap<&str, String> = HashMap::new();
    for row in include_str!("../../docs/facts.md").lines().filter(|row| row.starts_with("| ")) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [statement, command, promise] = cells[..] else { panic!("three cells are expected: {row}") };
        let (refused, promise) = match promise.strip_prefix("refused: ") {
            Some(message) => (true, message),
            None => (false, promise),
        };
        let (command, promise) = (command.trim_matches('`'), promise.trim_matches(['`', ' ', '|']));
        assert!(!promise.is_empty(), "{statement}: what does `{command}` show?");
        if promise.starts_with("on a real GPU: ") || !is_repeatable(command) {
            continue;
        }
        let text = texts.entry(command).or_insert_with(|| unbroken(&run(command, refused)));
        assert!(
            text.contains(&unbroken(promise)),
            "{statement}: `{command}` does not show `{promise}`:\n{text}"
        );
        shown += 1;
    }
    assert!(shown > 75, "{shown}");
}

/// What a command's comment in the guide promises, in the words of the tool.
fn promises(comment: &str) -> Vec<String> {
    let words: Vec<&str> = comment.split([' ', ',', ':']).filter(|word| !word.is_empty()).collect();
    let number = |word: &str| match word {
        "one" => Some(1),
        "two" => Some(2),
        digits => digits.parse::<u32>().ok(),
    };
    let promise = |pair: &[&str]| {
        let number = number(pair[0])?;
        match pair[1] {
            "sectors" => Some(format!("{number} transactions")),
            "wavefront" | "wavefronts" => Some(format!("{number} wavefront")),
            "%" => Some(format!("{number} % used")),
            _ => None,
        }
    };
    words.windows(2).filter_map(promise).collect()
}

#[test]
fn every_command_of_the_guide_runs_and_shows_what_is_said_of_it() {
    let (mut ran, mut kept) = (0, 0);
    for line in include_str!("../../docs/memory-guide.md").lines() {
        let Some(line) = line.strip_prefix("    ").filter(|line| line.starts_with("warpsmith ")) else {
            continue;
        };
        let (command, comment) = line.split_once('#').unwrap_or((line, ""));
        // `check all` looks at every kernel, which takes minutes: `.ci/run` has it.
        if is_repeatable(command) && !command.contains("KERNEL") && command.trim() != "warpsmith check all" {
            let text = run(command, false);
            for promise in promises(comment) {
                assert!(text.contains(&promise), "{line}\nshows no `{promise}`:\n{text}");
                kept += 1;
            }
            ran += 1;
        }
    }
    assert!(ran > 25 && kept >= 12, "{ran} commands, {kept} promises");
}

/// The first page's program is the first example, which is built and run.
#[test]
fn the_readmes_program_is_the_first_example() {
    let readme = include_str!("../../README.md");
    let (_, after) = readme.split_once("```rust\n").unwrap();
    let (program, _) = after.split_once("```").unwrap();
    let (_, example) = include_str!("../../examples/01_add.rs").split_once('\n').unwrap();
    assert_eq!(program, example);
}

/// The programs of these pages are examples, which are built and run.
#[test]
fn the_programs_of_the_pages_are_examples() {
    for (page, example) in [
        (include_str!("../../docs/interop.md"), include_str!("../../tests/cudarc/examples/softmax.rs")),
        (include_str!("../../docs/graphs.md"), include_str!("../../examples/12_graph.rs")),
    ] {
        let (_, after) = page.split_once("```rust\n").unwrap();
        let (program, _) = after.split_once("```").unwrap();
        let (_, example) = example.split_once("\n\n").unwrap();
        assert_eq!(program, example);
    }
}

/// What the pages of this repository link to, with the page that does.
fn links() -> Vec<(std::path::PathBuf, String)> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut pages = vec![root.join("README.md")];
    pages.extend(std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path()));
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md"));
    let mut links = Vec::new();
    for page in pages {
        let text = std::fs::read_to_string(&page).unwrap();
        for after in text.split("](").skip(1) {
            links.push((page.clone(), after.split(')').next().unwrap().to_owned()));
        }
    }
    links
}

#[test]
fn every_link_to_a_file_leads_to_one() {
    let links = links();
    assert!(links.len() > 20, "{}", links.len());
    for (page, link) in links.into_iter().filter(|(_, link)| !link.contains("://")) {
        let file = page.parent().unwrap().join(link.split('#').next().unwrap());
        assert!(file.exists(), "{} links to {link}, which is not there", page.display());
    }
}

#[test]
fn where_to_change_names_files_that_hold_what_it_says() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = include_str!("../../docs/where-to-change.md");
    let tasks: Vec<&str> = page.split("\n## ").skip(1).collect();
    assert_eq!(tasks.len(), 11);
    for task in tasks {
        let files: Vec<&str> = task.lines().filter_map(|line| line.strip_prefix("- ")).collect();
        assert!((1..=4).contains(&files.len()), "{task}");
        for line in files {
            // A file, and a word in it beside which the change goes; a file to be made has no word.
            let mut code = line.split('`').skip(1).step_by(2);
            let (path, word) = (code.next().expect(line), code.next());
            if line.contains("a new file") {
                let folder = root.join(path).parent().unwrap().to_owned();
                assert!(folder.is_dir() && !root.join(path).exists(), "{line}");
                continue;
            }
            let text =
                std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{line}: {error}"));
            assert!(text.contains(word.expect(line)), "{line}");
        }
    }
}

#[test]
fn the_help_names_every_chip() {
    for command in ["roofline", "occupancy"] {
        let help = unbroken(&run(&format!("warpsmith {command} --help"), false));
        for chip in gpu_model::chips::ALL {
            assert!(help.contains(chip.key), "{command}: {}", chip.key);
        }
    }
}

/// Package, name and head of each test binary.
fn test_binaries() -> Vec<(String, String, String)> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .output()
        .expect("cargo runs this test");
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut found = Vec::new();
    for package in metadata["packages"].as_array().unwrap() {
        if package["manifest_path"].as_str().unwrap().contains("fixtures") {
            continue;
        }
        for target in package["targets"].as_array().unwrap() {
            if target["kind"][0] == "test" {
                let text = std::fs::read_to_string(target["src_path"].as_str().unwrap()).unwrap();
                let head: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("//!")).collect();
                let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
                found.push((text(&package["name"]), text(&target["name"]), unbroken(&head.join(" "))));
            }
        }
    }
    found
}

#[test]
fn the_map_of_the_tests_names_each_with_the_claim_of_its_head() {
    let page = include_str!("../../docs/testing.md");
    let rows: Vec<Vec<&str>> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"))
        .map(|line| line.split(" | ").map(str::trim).collect())
        .skip(2)
        .collect();
    let binaries = test_binaries();
    assert_eq!(rows.len(), binaries.len(), "`.ci/testing-page` writes the page anew");
    for (package, name, head) in binaries {
        let place = format!("{package} `{name}`");
        let row = rows.iter().find(|row| row[0] == place);
        let row =
            row.unwrap_or_else(|| panic!("{place} is missing: `.ci/testing-page` writes the page anew"));
        assert!(!row[1].is_empty() && head.starts_with(row[1]), "{place}: {head}");
    }
}
