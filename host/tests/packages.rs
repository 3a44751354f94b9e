//! What a user's project depends on can be published: with a licence, a description, versions, and nothing that stays here.
//! `.ci/package` builds it from what would be uploaded.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// On the registry these are other people's.
const TAKEN: [&str; 7] =
    ["cuda_builder", "cuda_std", "cuda_std_macros", "find_cuda_helper", "report", "sanitizer", "tile"];

struct Package(Value);

impl Package {
    /// Its dependencies within this repository: the package, whether only tests need it, and whether it has a version.
    fn own(&self) -> impl Iterator<Item = (&str, bool, bool)> {
        let all = self.0["dependencies"].as_array().unwrap().iter();
        all.filter(|dependency| !dependency["path"].is_null()).map(|dependency| {
            let name = dependency["name"].as_str().unwrap();
            (name, dependency["kind"] == "dev", dependency["req"] != "*")
        })
    }

    fn is_published(&self) -> bool {
        self.0["publish"].is_null()
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn packages() -> BTreeMap<String, Package> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter().cloned();
    packages.map(|json| (json["name"].as_str().unwrap().to_owned(), Package(json))).collect()
}

/// The packages that these need, and they themselves; those for tests alone only where they have a version.
fn needed<'a>(packages: &'a BTreeMap<String, Package>, first: &[&'a str]) -> BTreeSet<&'a str> {
    let mut open = first.to_vec();
    let mut found = BTreeSet::new();
    while let Some(name) = open.pop() {
        if found.insert(name) {
            let own = packages[name].own().filter(|(_, for_tests, versioned)| !for_tests || *versioned);
            open.extend(own.map(|(name, ..)| name));
        }
    }
    found
}

/// The packages that `warpsmith new --project` names.
fn named() -> Vec<&'static str> {
    let templates = [
        include_str!("../templates/one_package/Cargo.toml.txt"),
        include_str!("../templates/two_packages/Cargo.toml.txt"),
    ];
    let sections = templates
        .into_iter()
        .flat_map(|template| template.split("\n[").filter(|section| !section.starts_with("patch")));
    let ours = sections.flat_map(str::lines).filter(|line| line.contains("path = \"WARPSMITH/"));
    ours.map(|line| line.split(' ').next().unwrap()).collect()
}

/// The words of a list in `.ci/package`.
fn listed<'a>(script: &'a str, list: &str) -> BTreeSet<&'a str> {
    let start = format!("\n{list}=(");
    let (_, rest) = script.split_once(&start).unwrap();
    rest.split(')').next().unwrap().split_whitespace().collect()
}

#[test]
fn what_projects_depend_on_can_be_published() {
    let packages = packages();
    let mut first = named();
    assert!(first.len() >= 5, "{first:?}");
    first.push("cuda_driver");
    let needed_by_projects = needed(&packages, &first);
    for &name in &needed_by_projects {
        let package = &packages[name];
        assert!(package.is_published(), "{name} stays here");
        for key in ["description", "license"] {
            assert!(package.0[key].as_str().is_some_and(|text| !text.is_empty()), "{name} has no {key}");
        }
        let folder = Path::new(package.0["manifest_path"].as_str().unwrap()).parent().unwrap();
        for file in ["LICENSE-APACHE", "LICENSE-MIT"] {
            assert!(folder.join(file).is_file(), "{name} has no {file}");
        }
        for (other, for_tests, versioned) in package.own() {
            assert!(for_tests || versioned, "{name} has no version for {other}");
            // The registry takes packages one after the other.
            let circle = versioned && needed(&packages, &[other]).contains(name);
            assert!(!circle, "{name} and {other} need each other");
        }
    }
    let published = packages.iter().filter(|(_, package)| package.is_published());
    let published: BTreeSet<&str> = published.map(|(name, _)| name.as_str()).collect();
    assert_eq!(published, needed_by_projects, "what can be published, and what a project needs");
}

#[test]
fn the_script_packages_them_by_names_that_are_free() {
    let script = std::fs::read_to_string(root().join(".ci/package")).unwrap();
    let packages = packages();
    let published = packages.iter().filter(|(_, package)| package.is_published());
    let published: BTreeSet<&str> = published.map(|(name, _)| name.as_str()).collect();
    assert_eq!(listed(&script, "packages"), published);
    let taken = published.iter().copied().filter(|name| TAKEN.contains(name));
    assert_eq!(listed(&script, "taken"), taken.collect());
    // Their libraries keep their names when the script changes the packages'.
    for name in listed(&script, "taken") {
        let manifest = std::fs::read_to_string(root().join(format!("crates/{name}/Cargo.toml"))).unwrap();
        let names = manifest.lines().filter(|line| *line == format!("name = \"{name}\""));
        assert_eq!(names.count(), 2, "the package's name and its library's:\n{manifest}");
    }
}
