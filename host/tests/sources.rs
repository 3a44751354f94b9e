//! The sources keep the project's rules: every variable of the environment is documented, and comments have nouns.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// All Rust files below these folders of the repository, with their text.
fn sources(folders: &[&str]) -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders: Vec<PathBuf> = folders.iter().map(|folder| root.join(folder)).collect();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.extend((!path.ends_with("target")).then_some(path));
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push((path.clone(), std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    assert!(files.len() > 500, "{}", files.len());
    files
}

#[test]
fn the_drivers_page_has_every_variable() {
    /// Of this repository's own tests.
    const INTERNAL: [&str; 6] =
        ["SUITE_WORKER", "DEVICES_WORKER", "DEVICES_CASE", "DRAW", "PAGE", "LABELLED"];
    let page = include_str!("../../docs/driver.md");
    let files = sources(&["crates", "host", "tests"]);
    let names = files
        .iter()
        .flat_map(|(_, text)| text.split("WARPSMITH_").skip(1))
        .map(|rest| rest.split(|c: char| !c.is_ascii_uppercase() && c != '_').next().unwrap_or_default());
    let missing: BTreeSet<&str> = names
        .filter(|name| !name.is_empty() && !INTERNAL.contains(name))
        .filter(|name| !page.contains(&format!("`WARPSMITH_{name}")))
        .collect();
    assert_eq!(missing, BTreeSet::new());
}

/// Relative clauses in place of nouns: see the glossary.
#[test]
fn comments_have_nouns() {
    const WORDS: [&str; 4] = ["whoever", "nobody", "somebody", "so many"];
    let mut found = Vec::new();
    for (path, text) in sources(&["crates", "host", "kernels-gpu", "tests"]) {
        if !path.iter().any(|part| part == "src") {
            continue;
        }
        for (at, line) in text.lines().enumerate() {
            let Some((_, comment)) = line.split_once("//") else { continue };
            let comment = comment.trim_start_matches(['/', '!']).trim_start();
            let lower = comment.to_lowercase();
            let is_doc = line.trim_start().starts_with("///") || line.trim_start().starts_with("//!");
            if WORDS.iter().any(|word| lower.contains(word)) || (is_doc && comment.starts_with("What ")) {
                found.push(format!("{}:{}: {comment}", path.display(), at + 1));
            }
        }
    }
    assert!(found.is_empty(), "{} comments:\n{}", found.len(), found.join("\n"));
}
